# The image, if the binary is static: as a root file system that cannot be written, without any right.
IMAGE=$(echo "$PACKAGES"/*.oci.tar)
[ -e "$IMAGE" ] || { echo "TOLD: the binary is not static: there is no image to try"; exit 0; }
mkdir -p layout root data
tar -xf "$IMAGE" -C layout
for BLOB in layout/blobs/sha256/*; do
    [ "$(sha256sum < "$BLOB" | cut -d' ' -f1)" = "$(basename "$BLOB")" ]
done
LAYER=$("$PYTHON" - <<'END'
import json
blob = lambda found: "layout/blobs/" + found["digest"].replace(":", "/")
manifest = json.load(open(blob(json.load(open("layout/index.json"))["manifests"][0])))
config = json.load(open(blob(manifest["config"])))["config"]
assert config["User"] == "65532:65532" and config["Cmd"] == ["serve"], config
print(blob(manifest["layers"][0]))
END
)
tar -xzf "$LAYER" -C root --no-same-owner
mount --bind root root
mount -o remount,bind,ro root root
mount --bind data root/var/lib/plenary
touch root/written 2> /dev/null && { echo 'the root can be written'; exit 1; }
env -i "PATH=$PATH" chroot root /usr/bin/plenary --version
env -i "PATH=$PATH" HOME=/var/lib/plenary PLENARY_DATA=/var/lib/plenary PLENARY_LISTEN=0.0.0.0:7420 chroot root /usr/bin/plenary serve \
    > served 2> serve.log &
SERVER=$!
until [ -s data/server-url ]; do sleep 0.1; done
kill -TERM $SERVER
wait $SERVER
umount root/var/lib/plenary root
