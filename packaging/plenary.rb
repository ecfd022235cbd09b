# Builds Plenary from source, on macOS and Linux. `cargo xtask dist --url URL` fills it in.
class Plenary < Formula
  desc "One server for networks of AI agents"
  homepage "@URL@"
  url "@URL@/plenary-@VERSION@-source.tar.gz"
  sha256 "@SHA256@"
  license "Apache-2.0"

  depends_on "rust" => :build

  def install
    system "cargo", "install", *std_cargo_args(path: "crates/plenary")
    generate_completions_from_executable(bin/"plenary", "completions")
  end

  service do
    run [opt_bin/"plenary", "serve"]
    keep_alive crashed: true
    environment_variables PLENARY_DATA: var/"plenary"
    error_log_path var/"log/plenary.log"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/plenary --version")
    system bin/"plenary", "demo", "--once"
  end
end
