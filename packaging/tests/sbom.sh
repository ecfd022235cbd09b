# The bill of materials: whole, and the one in the wheel is the one beside it.
"$PYTHON" - "$PACKAGES" <<'END'
import glob, json, sys, zipfile
bill = json.load(open(glob.glob(sys.argv[1] + "/plenary-*.cdx.json")[0]))
assert bill["bomFormat"] == "CycloneDX" and bill["specVersion"] == "1.6"
own = bill["metadata"]["component"]["bom-ref"]
references = [part["bom-ref"] for part in bill["components"]] + [own]
assert len(references) == len(set(references)) > 100, len(references)
for edge in bill["dependencies"]:
    assert edge["ref"] in references and set(edge["dependsOn"]) <= set(references), edge
for part in bill["components"]:
    assert part["licenses"], part
    assert ("hashes" in part) == ("purl" in part), part
names = {part["name"] for part in bill["components"]}
assert {"tokio", "rustls", "plenary-kernel"} <= names and "xtask" not in names
wheel = zipfile.ZipFile(glob.glob(sys.argv[1] + "/*.whl")[0])
assert wheel.testzip() is None
inner = [name for name in wheel.namelist() if "/sboms/" in name]
assert json.loads(wheel.read(inner[0])) == bill
print(len(names), "crates")
END
