// Decorators of samplers: their table has the keys of the samplers that they decorate.

#include "tests/pipeline/base/config/support.h"

namespace flowtrain::testing::decorators_test {
namespace {

const std::string shapes = "[data]\ndataset = \"shapes\"\n[sampler]\n";

}  // namespace

TEST_CASE("a decorator's table has its own keys and those of what it decorates") {
  const std::string text = shapes + "name = \"check\"\ninner = \"slow, classify\"\nslow_us = 5\nsize = 24\n";
  const auto config = loaded(text);
  const Settings& sampler = config.table("sampler");
  CHECK(sampler.real("slow_us") == 5);
  CHECK(sampler.integer("size") == 24);
  CHECK(sampler.integer("check_every") == 1);
  CHECK_FALSE(sampler.has("faulty_rate"));
  const TempFolder folder;
  CHECK(diff(config, load_config(folder.write("again.toml", to_toml(config)))).empty());
  // From the command line, over a file that says nothing of it.
  const auto over =
      loaded(shapes + "flip = 0.25\n", {parse_set("sampler.name=check"), parse_set("sampler.inner=classify")});
  CHECK(over.table("sampler").real("flip") == 0.25);
}

TEST_CASE("keys that no sampler of the chain has are told, and so are chains that cannot be") {
  CHECK(refusal(shapes + "name = \"check\"\ninner = \"classify\"\nsizee = 24\n").message ==
        "a.toml:6:1: unknown key 'sampler.sizee'; did you mean 'sampler.size'?");
  const auto other = refusal(shapes + "name = \"check\"\ninner = \"copy\"\nsize = 24\n");
  CHECK(other.message == "a.toml:6:1: sampler.size: the sampler 'check' has no such key");
  CHECK(refusal(shapes + "name = \"check\"\ninner = \"classify\"\nsize = \"big\"\n")
            .message.starts_with("a.toml:6:1: sampler.size: expected an integer"));
  CHECK(refusal(shapes + "name = \"check\"\n").message.find("sampler.inner: must be given") != std::string::npos);
  const auto unknown = refusal(shapes + "name = \"check\"\ninner = \"clasify\"\n");
  CHECK(unknown.message == "a.toml:5:1: sampler.inner: no sampler is called 'clasify'");
  CHECK(unknown.hint.starts_with("did you mean 'classify'?"));
  CHECK(refusal(shapes + "name = \"check\"\ninner = \"classify, slow\"\n").message ==
        "a.toml:5:1: sampler.inner: 'classify' decorates no other sampler, but 'slow' follows");
  CHECK(refusal(shapes + "name = \"check\"\ninner = \"slow\"\n").message ==
        "a.toml:5:1: sampler.inner: 'slow' decorates another sampler, but none follows");
  CHECK(refusal(shapes + "name = \"check\"\ninner = \"slow, check, copy\"\n").message ==
        "a.toml:5:1: sampler.inner: 'check' is in the chain twice: check, slow, check");
}

TEST_CASE("a later choice of the decorated sampler leaves the keys of the earlier one behind") {
  const std::string text = shapes + "name = \"check\"\ninner = \"classify\"\nflip = 0.25\n";
  CHECK_FALSE(loaded(text, {parse_set("sampler.inner=copy")}).table("sampler").has("flip"));
  const auto plain = loaded(text, {parse_set("sampler.name=classify")});
  CHECK_FALSE(plain.table("sampler").has("inner"));
  CHECK(plain.table("sampler").real("flip") == 0.25);
}

TEST_CASE("keys that change no row do not break a resume") {
  const auto before = loaded(shapes + "name = \"check\"\ninner = \"slow, classify\"\n");
  for (const std::string change :
       {"sampler.check_every=9", "sampler.slow_us=9", "sampler.process=true", "sampler.process_timeout=9"}) {
    const auto changes =
        diff(before, loaded(shapes + "name = \"check\"\ninner = \"slow, classify\"\n", {parse_set(change)}));
    REQUIRE(changes.size() == 1);
    CHECK_FALSE(changes.front().breaks);
  }
}

}  // namespace flowtrain::testing::decorators_test
