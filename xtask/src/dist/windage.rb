class Windage < Formula
  desc "Measures what telemetry costs the service it watches"
  homepage "@ADDRESS@"
  url "@ADDRESS@/windage-@VERSION@-@TARGET@.tar.gz"
  sha256 "@SHA256@"
  license "Apache-2.0"

  depends_on arch: :x86_64
  depends_on :linux

  def install
    bin.install "windage"
    man1.install Dir["man/man1/*"]
    bash_completion.install "completions/windage.bash" => "windage"
    fish_completion.install "completions/windage.fish"
    zsh_completion.install "completions/_windage"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/windage --version")
  end
end
