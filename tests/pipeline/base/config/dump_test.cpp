#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>

#include "pipeline/base/config/config.h"
#include "pipeline/base/config/keys.h"
#include "sampling/core/settings.h"
#include "stages/hooks/hook_entries.h"
#include "tests/pipeline/base/config/support.h"

namespace flowtrain::dump_test {

using namespace flowtrain::testing;

namespace {

const std::string rich = R"(name = "rich"
run.max_epochs = 3
[data]
dataset = "letters"
path = "some \"where\"\\ \t"
max_bad = 7
[data.val]
split = "dev"
alphabet = "thai"
[order]
name = "spiral"
turns = 5
[net]
name = "mlp"
hidden = [8]
[optim]
name = "adam"
lr = 1e-3
betas = [0.5, 0.25]
[val]
metrics = ["accuracy", "top5"]
every = "2 epochs"
)";

/// What `overrides` change in `rich`.
std::vector<Difference> changes(const std::vector<std::string>& overrides) {
  std::vector<Override> all;
  all.reserve(overrides.size());
  for (auto& each : overrides) all.push_back(parse_set(each));
  return diff(loaded(rich), loaded(rich, all));
}

}  // namespace

TEST_CASE("texts may hold environment variables, which the resolved configuration keeps as they were written") {
  add_entries();
  ::setenv("CONFIG_TEST_DATA", "/big/disk", 1);
  ::setenv("CONFIG_TEST_SPLIT", "dev", 1);
  ::unsetenv("CONFIG_TEST_NONE");
  TempFolder temp;
  const std::string body = "[order]\nname = \"spiral\"\nturns = 5\n[net]\nname = \"mlp\"\n";
  const auto file = temp.write("a.toml", "name = \"rich\"\nrun.max_epochs = 3\n[data]\ndataset = \"letters\"\n" +
                                             std::string("path = \"${CONFIG_TEST_DATA}/x-$${y}\"\n") +
                                             "[data.val]\nsplit = \"${CONFIG_TEST_SPLIT}\"\n" + body);
  const Config config = load_config(file);
  CHECK(config.data(true).text("path") == "/big/disk/x-${y}");
  CHECK(config.data(false).text("split") == "dev");
  const std::string text = to_toml(config);
  CHECK(text.find("path = \"${CONFIG_TEST_DATA}/x-$${y}\"") != std::string::npos);
  CHECK(text.find("/big/disk") == std::string::npos);
  // Read again it follows the variable.
  ::setenv("CONFIG_TEST_DATA", "/other", 1);
  CHECK(load_config(temp.write("b.toml", text)).data(true).text("path") == "/other/x-${y}");
  // From flags, too; what no variable is stays as it is.
  const Config set = load_config(file, {parse_set("data.path=${CONFIG_TEST_DATA}/z"), parse_set("name=cost-$5")});
  CHECK(set.data(true).text("path") == "/other/z");
  CHECK(set.name() == "cost-$5");
  CHECK(to_toml(set).find("path = \"${CONFIG_TEST_DATA}/z\"") != std::string::npos);

  const auto refused = [&](const std::string& path) {
    const auto broken = temp.write("c.toml", "[data]\ndataset = \"letters\"\npath = \"" + path + "\"\n" + body);
    const auto failure = failure_of([&] { load_config(broken); });
    REQUIRE(failure);
    return failure->message.substr(failure->message.find("c.toml"));
  };
  CHECK(refused("${CONFIG_TEST_NONE}/x") ==
        "c.toml:3:1: data.path: the environment variable CONFIG_TEST_NONE is not set");
  CHECK(refused("${}/x") == "c.toml:3:1: data.path: expected the name of an environment variable in \"${}/x\"");
  CHECK(refused("${A-B}").find("expected the name of an environment variable") != std::string::npos);
  CHECK(refused("x${CONFIG").find("expected the name of an environment variable") != std::string::npos);
  // A value that another one replaces needs no variable.
  CHECK(load_config(temp.path() / "c.toml", {parse_set("data.path=here")}).data(true).text("path") == "here");
}

TEST_CASE("the resolved configuration has every key, with its origin") {
  add_entries();
  TempFolder temp;
  auto file = temp.write("a.toml", rich);
  auto text = to_toml(load_config(file, {{"run.seed", "7", "--seed"}}));
  auto has = [&](const std::string& line) { return text.find(line + "\n") != std::string::npos; };
  CHECK(has("name = \"rich\"  # " + file.string() + ":1:1"));
  CHECK(has("seed = 7  # --seed"));
  CHECK(has("batch = 64  # default"));
  CHECK(has("turns = 5  # " + file.string() + ":12:1"));
  CHECK(has("lr = 0.001  # " + file.string() + ":18:1"));
  CHECK(has("[data.val]"));
  CHECK_FALSE(has("[data.train]"));
  for (auto& table : core_tables())
    if (!table.name.starts_with("data.") && table.repeats != Repeats::yes)
      for (auto& key : table.keys) CHECK(("\n" + text).find("\n" + key.name + " = ") != std::string::npos);
}

TEST_CASE("how cuDNN is used is a choice of three, and the dump says which") {
  CHECK(loaded(rich).table("run").text("cudnn") == "auto");
  for (const std::string way : {"auto", "plain", "off"}) {
    const Config config = loaded(rich, {parse_set("run.cudnn=" + way)});
    CHECK(config.table("run").text("cudnn") == way);
    CHECK(to_toml(config).find("\ncudnn = \"" + way + "\"  # --set\n") != std::string::npos);
  }
  try {
    loaded(rich, {parse_set("run.cudnn=fast")});
    FAIL("accepted");
  } catch (const UserError& error) {
    CHECK(std::string(error.what()).starts_with("--set: run.cudnn: "));
    for (const char* known : {"auto", "plain", "off"})
      CHECK((std::string(error.what()) + error.hint()).find(known) != std::string::npos);
  }
}

TEST_CASE("the resolved configuration loads again to an equal one") {
  TempFolder temp;
  for (auto& text :
       {rich, std::string("[data]\ndataset = \"letters\"\n"),
        std::string(
            "[data]\ndataset = \"letters\"\n[[group]]\nparams = \"bias$\"\nweight_decay = 0\n[[schedule]]\nname = "
            "\"warmup\"\nlength = 3\n[[optim]]\nlabel = \"a\"\n[[optim]]\nlabel = \"b\"\n"),
        std::string("[data]\npath = \"p\"\n[data.train]\ndataset = \"letters\"\nbad = \"stop\"\n"
                    "[data.val]\ndataset = \"digits\"\nbase = 3\n")}) {
    auto config = loaded(text, {parse_set("net.name=script"), parse_set("net.script=m.pt")});
    temp.write("run.lock", "");
    auto again = load_config(temp.write("config.toml", to_toml(config)));
    auto changed = diff(config, again);
    for (auto& each : changed) MESSAGE(each.key << ": " << each.was << " -> " << each.is);
    CHECK(changed.empty());
    CHECK(again.name() == config.name());
    for (const char* table : {"run", "net", "loader", "train", "val", "snapshot"})
      for (auto& key : config.table(table).keys()) {
        CAPTURE(std::string(table) + "." + key.name);
        CHECK(again.table(table).given(key.name) == config.table(table).given(key.name));
      }
  }
}

TEST_CASE("a default that a run's configuration marks is given only if it is another value") {
  const TempFolder temp;
  add_entries();
  const auto given = [&](const std::string& name, const std::string& line) {
    return load_config(temp.write(name, letters + "[loader]\n" + line)).loader().batch.given();
  };
  temp.write("run.lock", "");
  CHECK(given("own.toml", "batch = 64  # default\n"));
  CHECK_FALSE(given("config.toml", "batch = 64  # default\n"));
  CHECK(given("config.toml", "batch = 65  # default\n"));
  CHECK(given("config.toml", "batch = 64\n"));
}

TEST_CASE("a path with a line's end does not leave its comment") {
  TempFolder temp;
  add_entries();
  auto config = load_config(temp.write("odd\nname = 3.toml", rich));
  CHECK_NOTHROW(load_config(temp.write("again.toml", to_toml(config))));
}

TEST_CASE("equal configurations do not differ") { CHECK(changes({}).empty()); }

TEST_CASE("a difference names the key and both values") {
  auto found = changes({"optim.lr=0.5"});
  REQUIRE(found.size() == 1);
  CHECK(found[0].key == "optim.lr");
  CHECK(found[0].was == "0.001");
  CHECK(found[0].is == "0.5");
  CHECK(found[0].breaks);
}

TEST_CASE("changes that decide parameters break exact resume") {
  for (auto set : {"net.hidden=[9]",
                   "optim.name=sgd",
                   "loss.label_smoothing=0.1",
                   "lr.stepsize=5",
                   "lr.warmup.length=3",
                   "order.turns=6",
                   "sampler.name=copy",
                   "batch_augment.mixup=0.2",
                   "batch_augment.color.hue=0.1",
                   "batch_augment.erase.prob=0.5",
                   "data.alphabet=runic",
                   "data.train.split=x",
                   "loader.batch=32",
                   "loader.last_batch=drop",
                   "train.accum=2",
                   "train.clip=1",
                   "train.amp=bf16",
                   "run.seed=2",
                   "run.threads=2",
                   "run.deterministic=false"}) {
    auto found = changes({set});
    CAPTURE(set);
    REQUIRE_FALSE(found.empty());
    CHECK(std::any_of(found.begin(), found.end(), [](auto& each) { return each.breaks; }));
  }
}

TEST_CASE("changes that only shape the run's way do not") {
  for (auto set :
       {"run.max_epochs=4", "run.max_iter=4", "run.device=cpu", "loader.workers=1", "loader.prefetch=9",
        "loader.readers=1", "display.every=1", "snapshot.keep_last=1", "val.batch=8", "net.pretrain=w.safetensors",
        "data.bad=stop", "data.max_bad=1", "data.val.split=other", "name=other"}) {
    auto found = changes({set});
    CAPTURE(set);
    REQUIRE_FALSE(found.empty());
    CHECK(std::none_of(found.begin(), found.end(), [](auto& each) { return each.breaks; }));
  }
}

TEST_CASE("hooks that only look on may come, change and go, as other hooks may not") {
  static const bool once [[maybe_unused]] = [] {
    hooks().add({"nudge", "for tests", {{"by", Kind::integer, std::int64_t{1}, "how far"}}, {}});
    return true;
  }();
  const std::string norms = "[[hook]]\nname = \"norms\"\n", stop = "[[hook]]\nname = \"stop_file\"\nfile = \"x\"\n",
                    nudge = "[[hook]]\nname = \"nudge\"\n";
  const auto breaks = [](const std::string& before, const std::string& now) {
    const auto found = diff(loaded(rich + before), loaded(rich + now));
    REQUIRE_FALSE(found.empty());
    return std::any_of(found.begin(), found.end(), [](auto& each) { return each.breaks; });
  };
  CHECK_FALSE(breaks("", norms));
  CHECK_FALSE(breaks(norms, ""));
  CHECK_FALSE(breaks(norms, norms + "every = 3\n"));
  CHECK_FALSE(breaks(norms, stop));
  CHECK_FALSE(breaks(norms, norms + stop));
  CHECK_FALSE(breaks(nudge, norms + nudge));
  CHECK(breaks("", nudge));
  CHECK(breaks(nudge, ""));
  CHECK(breaks(norms, nudge));
  CHECK(breaks(nudge, nudge + "by = 3\n"));
  const auto common = common_values(loaded(rich + norms + nudge));
  CHECK(common.contains("hook.0.by"));  // counted without those that look on
  CHECK_FALSE(common.contains("hook.0.every"));
}

TEST_CASE("how a start resumes is no difference") { CHECK(changes({"run.resume=auto"}).empty()); }

TEST_CASE("a change for both data sets is told once, for one of them with its name") {
  auto both = changes({"data.path=elsewhere"});
  REQUIRE(both.size() == 1);
  CHECK(both[0].key == "data.path");
  auto train = changes({"data.alphabet=runic"});  // [data.val] has its own
  REQUIRE(train.size() == 1);
  CHECK(train[0].key == "data.train.alphabet");
}

TEST_CASE("keys that one side does not have differ from nothing") {
  auto found = changes({"order.name=sequential"});
  auto turns = std::find_if(found.begin(), found.end(), [](auto& each) { return each.key == "order.turns"; });
  REQUIRE(turns != found.end());
  CHECK(turns->was == "5");
  CHECK(turns->is == "(none)");
}

}  // namespace flowtrain::dump_test
