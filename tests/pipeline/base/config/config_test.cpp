#include "pipeline/base/config/config.h"

#include <doctest/doctest.h>

#include <cstdlib>

#include "pipeline/base/config/keys.h"
#include "sampling/core/settings.h"
#include "tests/pipeline/base/config/support.h"
#include "tests/support/paths.h"

namespace flowtrain::config_test {

using namespace flowtrain::testing;

TEST_CASE("defaults stand where nothing was written") {
  auto config = loaded(letters);
  CHECK(config.name() == "a");
  CHECK(config.table("loader").integer("batch") == 64);
  CHECK_FALSE(config.table("loader").given("batch"));
  CHECK(config.table("order").text("name") == "shuffle");
  CHECK(config.table("lr.warmup").integer("length") == 0);
  CHECK(config.data(true).text("alphabet") == "latin");
  CHECK_THROWS_AS(config.table("nothing"), InternalError);
}

TEST_CASE("views of tables give values and origins by the names of their keys") {
  const auto config = loaded(letters + "[loader]\nprefetch = 7\n[val]\nevery = \"2 epochs\"\n");
  CHECK(*config.loader().prefetch == 7);
  CHECK(config.loader().prefetch.origin().line == 4);
  CHECK_FALSE(config.loader().readers.given());
  CHECK(config.loader().batch.fallback() == Value(std::int64_t{64}));
  CHECK(std::get<std::string>(*config.val().every) == "2 epochs");
  CHECK(*config.train().clip_by == "norm");
  CHECK(*config.snapshot().final);
  CHECK(std::string(config.run().seed.error("no").what()) == "run.seed: no");
  CHECK_THROWS_AS(Setting<bool>(config.table("run"), "seed"), InternalError);
}

TEST_CASE("every value knows where it was written") {
  add_entries();
  TempFolder temp;
  auto file = temp.write("a.toml", letters + "[loader]\nbatch = 32\n  workers = 3\n");
  auto config = load_config(file, {{"run.seed", "7", "--seed"}, parse_set("loader.prefetch=8")});
  auto& loader = config.table("loader");
  CHECK(loader.origin("batch").text() == file.string() + ":4:1");
  CHECK(loader.origin("workers").text() == file.string() + ":5:3");
  CHECK(loader.origin("prefetch").text() == "--set");
  CHECK(loader.origin("readers").text() == "default");
  CHECK(config.table("run").origin("seed").text() == "--seed");
  CHECK(loader.integer("prefetch") == 8);
  CHECK(std::get<std::int64_t>(config.table("run").value("seed")) == 7);
}

TEST_CASE("a file is merged over its bases, table by table, the later over the earlier") {
  add_entries();
  TempFolder temp;
  temp.write("base/one.toml",
             "name = \"one\"\n[loader]\nbatch = 1\nprefetch = 1\nreaders = 1\n[lr.warmup]\nlength = 5\n");
  temp.write("base/two.toml", "base = [\"deep/three.toml\"]\n[loader]\nbatch = 2\nprefetch = 2\n");
  temp.write("base/deep/three.toml", letters + "[loader]\nbatch = 3\nworkers = 3\n");
  auto config = load_config(temp.write(
      "a.toml", "base = [\"base/one.toml\", \"base/two.toml\"]\nlr.warmup.by = \"epoch\"\n[loader]\nbatch = 9\n"));
  auto& loader = config.table("loader");
  CHECK(config.name() == "one");
  CHECK(loader.integer("batch") == 9);
  CHECK(loader.integer("prefetch") == 2);
  CHECK(std::get<std::int64_t>(loader.value("workers")) == 3);
  CHECK(loader.integer("readers") == 1);
  CHECK(loader.origin("workers").source == (temp / "base/deep/three.toml").string());
  CHECK(config.table("lr.warmup").integer("length") == 5);
  CHECK(config.table("lr.warmup").text("by") == "epoch");
}

TEST_CASE("files that are each other's base are refused, one that is a base twice is not") {
  add_entries();
  TempFolder temp;
  temp.write("b.toml", "base = [\"a.toml\"]\n");
  auto failure = failure_of([&] { load_config(temp.write("a.toml", "\nbase = [\"./b.toml\"]\n")); });
  REQUIRE(failure);
  auto a = (temp / "a.toml").string(), b = (temp / "b.toml").string();
  CHECK(failure->message == b + ":1:9: base: files are each other's base: " + a + " → " + b + " → " + a);
  temp.write("leaf.toml", letters);
  temp.write("left.toml", "base = [\"leaf.toml\"]\n");
  temp.write("right.toml", "base = [\"leaf.toml\"]\n");
  CHECK_NOTHROW(load_config(temp.write("top.toml", "base = [\"left.toml\", \"right.toml\"]\n")));
}

TEST_CASE("files that pull in others without end are stopped") {
  add_entries();
  TempFolder temp;
  temp.write("0.toml", letters);
  for (int i = 1; i < 30; ++i) {
    auto below = "\"" + std::to_string(i - 1) + ".toml\"";
    temp.write(std::to_string(i) + ".toml", "base = [" + below + ", " + below + "]\n");
  }
  auto failure = failure_of([&] { load_config(temp / "29.toml"); });
  REQUIRE(failure);
  CHECK(failure->message.ends_with("base: more than 64 files are pulled in by `base`"));
}

TEST_CASE("a wrong base names who asked for it") {
  CHECK(refusal("base = \"x.toml\"\n").message == "a.toml:1:8: base: expected a list of files");
  CHECK(refusal("base = [3]\n").message == "a.toml:1:8: base: expected a list of files");
  CHECK(refusal("base = [\"gone.toml\"]\n").message ==
        "a.toml:1:9: base: cannot read the configuration 'gone.toml': No such file or directory");
}

TEST_CASE("files that cannot be read are refused") {
  TempFolder temp;
  auto missing = failure_of([&] { load_config(temp / "gone.toml"); });
  REQUIRE(missing);
  CHECK(missing->code == ExitCode::usage);
  CHECK(missing->message ==
        "cannot read the configuration '" + (temp / "gone.toml").string() + "': No such file or directory");
  auto folder = failure_of([&] { load_config(temp.path()); });
  REQUIRE(folder);
  CHECK(folder->message.ends_with("': it is a folder"));
  CHECK(refusal(letters + "#" + std::string(1 << 20, '.')).message ==
        "cannot read the configuration 'a.toml': it is larger than 1 MiB");
}

TEST_CASE("errors of syntax name line and column") {
  CHECK(refusal("[data]\ndataset = \n").message.starts_with("a.toml:2:11: "));
  CHECK(refusal("[loader\n").message.starts_with("a.toml:1:"));
  CHECK(refusal("name = \"x\"\nname = \"y\"\n").message.starts_with("a.toml:2:"));
  CHECK(refusal("name = \"\xff\"\n").message.starts_with("a.toml:1:"));
  CHECK(refusal("x = " + std::string(100000, '[')).message.starts_with("a.toml:1:"));
}

TEST_CASE("unknown keys and tables are refused with the nearest known one") {
  CHECK(refusal(letters + "\n[loader]\nprefech = 3\n").message ==
        "a.toml:5:1: unknown key 'loader.prefech'; did you mean 'loader.prefetch'?");
  CHECK(refusal("nam = \"x\"\n" + letters).message == "a.toml:1:1: unknown key 'nam'; did you mean 'name'?");
  CHECK(refusal("max_iter = 3\n" + letters).message ==
        "a.toml:1:1: unknown key 'max_iter'; did you mean 'run.max_iter'?");
  CHECK(refusal(letters + "[loadr]\nbatch = 3\n").message ==
        "a.toml:3:2: unknown table 'loadr'; did you mean 'loader'?");
  CHECK(refusal(letters + "[data.trian]\n").message ==
        "a.toml:3:7: unknown table 'data.trian'; did you mean 'data.train'?");
  CHECK(refusal(letters + "zzzzzz = 1\n").message == "a.toml:3:1: unknown key 'data.zzzzzz'");
  CHECK(refusal(letters + "\"a.b\" = 1\n").message == "a.toml:3:1: unknown key 'data.a.b'");
  CHECK(refusal(letters, {{"loader.prefech", "3"}}).message ==
        "--set: unknown key 'loader.prefech'; did you mean 'loader.prefetch'?");
}

TEST_CASE("a key or table that is spelt like no other one is told by its words, or by the keys in it") {
  const auto message = [](const std::string& more) { return refusal(letters + more).message; };
  CHECK(message("[loader]\nlast = \"drop\"\n").ends_with("did you mean 'loader.last_batch'?"));
  CHECK(message("[loader]\nkeep_mb = 5\n").ends_with("did you mean 'loader.cache_mb'?"));
  CHECK(message("[run]\ngrace = 5\n").ends_with("did you mean 'run.grace_seconds'?"));
  CHECK(message("[mix]\nmixup = 0.2\n").ends_with("unknown table 'mix'; did you mean 'batch_augment'?"));
  CHECK(message("[mix.color]\nhue = 0.2\n").ends_with("unknown table 'mix'; did you mean 'batch_augment'?"));
  CHECK(message("[[hooks]]\nname = \"norms\"\n").ends_with("unknown table 'hooks'; did you mean 'hook'?"));
  CHECK(message("[train]\nmax_iter = 5\n").ends_with("did you mean 'run.max_iter'?"));
  const auto overlapped = refusal(letters + "[val]\nmode = \"overlapped\"\n");
  CHECK(overlapped.hint.find("async: training continues while a copy of the net is validated") != std::string::npos);
  const auto list = refusal(letters + "[test]\nworst = 16\n");
  CHECK(list.message.ends_with("'test.worst' is a list of tables, not a key"));
  CHECK(list.hint.starts_with("write [[test.worst]]"));
}

TEST_CASE("several lists of the worst samples are told apart by metric and mode") {
  const auto message = [](const std::string& more) { return refusal(letters + more).message; };
  const std::string loss = "[[test.worst]]\nmetric = \"loss\"\n";
  CHECK(message(loss + loss).ends_with("test.worst.1.metric: another [[test.worst]] lists the same samples"));
  CHECK(message("[[test.worst]]\nmode = \"min\"\n").ends_with("\"min\" needs a metric, but metric is \"auto\""));
}

TEST_CASE("a table is no key and a key no table") {
  auto table = refusal("loader = 3\n" + letters);
  CHECK(table.message == "a.toml:1:1: 'loader' is a table, not a key");
  CHECK(table.hint == "write [loader]");
  CHECK(refusal(letters + "[[run]]\nseed = 1\n").message == "a.toml:3:3: run: expected one table, not a list");
  CHECK(refusal(letters + "[loader.batch]\nsize = 3\n").message == "a.toml:3:9: 'loader.batch' is a key, not a table");
}

TEST_CASE("wrong types and bounds are refused at their place") {
  CHECK(refusal(letters + "[loader]\nbatch = \"many\"\n").message.starts_with("a.toml:4:1: loader.batch: "));
  CHECK(refusal(letters + "[loader]\nbatch = 0\n").message.starts_with("a.toml:4:1: loader.batch: "));
  CHECK(refusal(letters + "[loader]\nworkers = \"all\"\n").message.starts_with("a.toml:4:1: loader.workers: "));
  CHECK(refusal(letters + "[optim]\nlr = inf\n").message.starts_with("a.toml:4:1: optim.lr: "));
  CHECK(refusal(letters + "[optim]\nlr = nan\n").message.starts_with("a.toml:4:1: optim.lr: "));
  CHECK(refusal(letters + "[run]\nseed = \"dice\"\n").message.starts_with("a.toml:4:1: run.seed: "));
  CHECK(refusal(letters + "[optim]\nbetas = [[1]]\n").message ==
        "a.toml:4:1: optim.betas: expected a list of numbers or a list of texts");
  CHECK(refusal(letters + "[run]\nseed = 2026-01-01\n").message ==
        "a.toml:4:1: run.seed: dates and times are not used here");
}

TEST_CASE("values that cannot be meant are refused") {
  auto message = [](const std::string& set) { return refusal(letters, {parse_set(set)}).message; };
  CHECK(message("name=a/b") == "--set: name: cannot be a folder's name: \"a/b\"");
  CHECK(message("name=..") == "--set: name: cannot be a folder's name: \"..\"");
  CHECK(message("run.device=gpu") == "--set: run.device: expected auto, cpu, cuda or cuda:N, got \"gpu\"");
  CHECK(message("run.device=cuda:") == "--set: run.device: expected auto, cpu, cuda or cuda:N, got \"cuda:\"");
  CHECK(message("run.device=cuda:x") == "--set: run.device: expected auto, cpu, cuda or cuda:N, got \"cuda:x\"");
  for (const std::string betas : {"[0.9]", "[0.9, 1.0]"})
    CHECK(refusal(letters + "[optim]\nname = \"adamw\"\nbetas = " + betas + "\n").message ==
          "a.toml:5:1: optim.betas: expected two numbers below 1, got " + betas);
  CHECK(message("optim.nesterov=true") == "--set: optim.nesterov: needs optim.momentum > 0");
  CHECK(message("snapshot.every=often").starts_with("--set: snapshot.every: expected a number of iterations"));
  CHECK(message("lr.stepsize=-2 epochs").starts_with("--set: lr.stepsize: expected a number of iterations"));
  CHECK(message("data.max_bad=101%").starts_with("--set: data.max_bad: expected a number or a percentage"));
  CHECK_NOTHROW(loaded(letters, {parse_set("run.device=cuda:1"), parse_set("snapshot.every=10 per epoch")}));
}

TEST_CASE("mixing labels that the loss does not know is refused with both places; erasing is not") {
  const std::string detection = letters + "[loss]\nname = \"cornernet\"\n[batch_augment]\n";
  CHECK(refusal(detection + "cutmix = 1.0\n").message ==
        "a.toml:6:1: batch_augment.cutmix: mixes class labels, and loss.name = \"cornernet\" (a.toml:4:1) knows none");
  CHECK(refusal(detection, {parse_set("batch_augment.mixup=0.2")}).message ==
        "--set: batch_augment.mixup: mixes class labels, and loss.name = \"cornernet\" (a.toml:4:1) knows none");
  const auto config = loaded(detection + "erase = {prob = 0.25, value = \"random\"}\n");
  CHECK(config.table("batch_augment.erase").real("prob") == 0.25);
  CHECK(config.table("batch_augment.erase").text("value") == "random");
  CHECK(config.table("batch_augment").real("mixup") == 0);

  auto message = [](const std::string& set) { return refusal(letters, {parse_set(set)}).message; };
  CHECK(message("batch_augment.erase.scale=[0.5]") ==
        "--set: batch_augment.erase.scale: must be [least, most], got [0.5]");
  CHECK(message("batch_augment.erase.ratio=[3, 0.3]") ==
        "--set: batch_augment.erase.ratio: must be [least, most], got [3.0, 0.3]");
  CHECK(message("batch_augment.erase.value=black").find("mean") != std::string::npos);
  CHECK(message("batch_augment.mixup=-1").starts_with("--set: batch_augment.mixup: "));
  CHECK(message("batch_augment.prob=1.5").starts_with("--set: batch_augment.prob: "));
}

TEST_CASE("the command line's values are TOML, or text as it stands") {
  auto config =
      loaded(letters, {parse_set("name=2024"), parse_set("loader.workers=auto"), parse_set("val.every=2 epochs"),
                       parse_set("net.hidden=[8, 4]"), parse_set("val.metrics=[]"), parse_set("net.name=\"mlp\""),
                       parse_set("lr.warmup={length = 3, by = \"epoch\"}"), parse_set("optim.lr=1"),
                       parse_set("data.path=a=b"), parse_set("run.dir=1\n[loader]\nbatch = 3")});
  CHECK(config.name() == "2024");
  CHECK(config.table("loader").text("workers") == "auto");
  CHECK(config.table("val").text("every") == "2 epochs");
  CHECK(config.table("net").integers("hidden") == std::vector<std::int64_t>{8, 4});
  CHECK(config.table("val").texts("metrics").empty());
  CHECK(config.table("net").text("name") == "mlp");
  CHECK(config.table("lr.warmup").integer("length") == 3);
  CHECK(config.list("optim")[0].real("lr") == 1);
  CHECK(config.data(true).text("path") == "a=b");
  CHECK(config.table("loader").integer("batch") == 64);
}

TEST_CASE("--set wants a key and a value") {
  for (auto wrong : {"loader.batch", "=3", ""}) {
    auto failure = failure_of([&] { parse_set(wrong); });
    REQUIRE(failure);
    CHECK(failure->message == std::string("--set ") + wrong + ": expected key=value");
  }
}

TEST_CASE("[data.train] and [data.val] refine [data]") {
  auto config =
      loaded(letters + "path = \"all\"\nalphabet = \"greek\"\n[data.val]\nsplit = \"dev\"\nalphabet = \"thai\"\n");
  CHECK(config.data(true).text("path") == "all");
  CHECK(config.data(false).text("path") == "all");
  CHECK(config.data(true).text("split") == "");
  CHECK(config.data(false).text("split") == "dev");
  CHECK(config.data(true).text("alphabet") == "greek");
  CHECK(config.data(false).text("alphabet") == "thai");
  CHECK(config.data(false).origin("alphabet").line == 7);
}

TEST_CASE("training and validation may use different data sets, each with its keys") {
  auto config = loaded(
      "[data]\npath = \"p\"\nalphabet = \"greek\"\nbase = 7\n[data.train]\ndataset = \"letters\"\n[data.val]\ndataset "
      "= "
      "\"digits\"\n");
  CHECK(config.data(true).text("alphabet") == "greek");
  CHECK_FALSE(config.data(true).has("base"));
  CHECK(config.data(false).integer("base") == 7);
  CHECK(config.data(false).text("path") == "p");
  CHECK(refusal("[data.train]\ndataset = \"letters\"\nbase = 3\n[data.val]\ndataset = \"digits\"\n").message ==
        "a.toml:3:1: data.train.base: the data set 'letters' has no such key");
}

TEST_CASE("a data set must be chosen, and be one that there is") {
  CHECK(refusal("").message.starts_with("a.toml: data.dataset: must be given"));
  CHECK(refusal("[data.train]\ndataset = \"letters\"\n").message.starts_with("a.toml: data.dataset: must be given"));
  CHECK(refusal("[data]\nalphabet = \"greek\"\n").message.starts_with("a.toml: data.dataset: must be given"));
  CHECK(refusal("[data]\nalphabte = \"greek\"\n").message.starts_with("a.toml:2:1: unknown key 'data.alphabte'"));
  CHECK(refusal("[loader]\nprefetch = \"many\"\n")
            .message.starts_with("a.toml:2:1: loader.prefetch: expected an integer"));
  auto unknown = refusal("[data]\ndataset = \"leters\"\n");
  CHECK(unknown.message == "a.toml:2:1: data.dataset: no data set is called 'leters'");
  CHECK(unknown.hint.find("did you mean 'letters'?") != std::string::npos);
  CHECK(refusal(letters + "[order]\nname = \"spirl\"\n").message ==
        "a.toml:4:1: order.name: no order is called 'spirl'");
  CHECK(refusal(letters + "[sampler]\nname = \"clasify\"\n").message ==
        "a.toml:4:1: sampler.name: no sampler is called 'clasify'");
  CHECK(refusal(letters + "[run]\nplugins = [\"./gone.so\"]\n").message ==
        "a.toml:4:1: run.plugins: ./gone.so: no such file");
}

TEST_CASE("the keys of a table follow the choice made in it") {
  CHECK(loaded(letters + "[order]\nname = \"spiral\"\nturns = 5\n").table("order").integer("turns") == 5);
  auto turns = refusal(letters + "[order]\nturns = 5\n");
  CHECK(turns.message == "a.toml:4:1: order.turns: the order 'shuffle' has no such key");
  CHECK(turns.hint == "it is a key of the order spiral");
  auto base = refusal(letters + "base = 5\n");
  CHECK(base.message == "a.toml:3:1: data.base: the data set 'letters' has no such key");
  CHECK(base.hint == "it is a key of the data set digits");
}

TEST_CASE("a later choice leaves behind what was written for the earlier one") {
  auto text = letters + "path = \"p\"\nalphabet = \"greek\"\n[order]\nname = \"spiral\"\nturns = 5\n";
  auto config = loaded(text, {parse_set("order.name=sequential"), parse_set("data.dataset=digits")});
  CHECK(config.table("order").text("name") == "sequential");
  CHECK_FALSE(config.table("order").has("turns"));
  CHECK(config.data(true).text("path") == "p");
  CHECK(config.data(true).integer("base") == 10);
  CHECK(refusal(text, {parse_set("order.name=sequential"), parse_set("order.turns=2")}).message ==
        "--set: order.turns: the order 'sequential' has no such key");
  CHECK(refusal(letters + "[order]\ntruns = 5\nname = \"spiral\"\n", {parse_set("order.name=sequential")}).message ==
        "a.toml:4:1: unknown key 'order.truns'");
}

TEST_CASE("a set's name is one line, and not that of [data.val] or [data.test]") {
  const auto refused = [](const std::string& text) { return refusal(letters + text).message; };
  CHECK(refused("[[val.set]]\nname = \"a\\nb\"\n").find("without line breaks") != std::string::npos);
  CHECK(refused("[[val.set]]\nname = \"val\"\n").find("'val' is what [data.val] is called") != std::string::npos);
  CHECK(refused("[[test.set]]\nname = \"a\\tb\"\n").find("without line breaks") != std::string::npos);
  CHECK(refused("[[test.set]]\nname = \"test\"\n").find("'test' is what [data.test] is called") != std::string::npos);
}

TEST_CASE("the keys of a [[val.set]] follow its own data set, or that of [data.val]") {
  const auto text = letters + "[data.val]\ndataset = \"digits\"\nbase = 7\n[[val.set]]\nname = \"more\"\n";
  CHECK(loaded(text + "base = 3\n").list("val.set")[0].integer("base") == 3);
  const auto inherited = refusal(text + "alphabet = \"greek\"\n");
  CHECK(inherited.message == "a.toml:8:1: val.set.0.alphabet: the data set 'digits' has no such key");
  CHECK(inherited.hint == "it is a key of the data set letters");
  const auto own = refusal(text + "dataset = \"letters\"\nbase = 3\n");
  CHECK(own.message == "a.toml:9:1: val.set.0.base: the data set 'letters' has no such key");
  // A later choice leaves behind what was written for the earlier one.
  const auto later = loaded(text + "base = 3\n", {parse_set("val.set.0.dataset=letters")});
  CHECK_FALSE(later.list("val.set")[0].has("base"));
  CHECK_FALSE(loaded(text + "base = 3\n", {parse_set("data.val.dataset=letters")}).list("val.set")[0].has("base"));
}

TEST_CASE("metrics that there are not are refused before a net is made") {
  const auto unknown = refusal(letters + "[val]\nmetrics = [\"acuracy\"]\n");
  CHECK(unknown.message.starts_with("a.toml:4:1: val.metrics: unknown metric 'acuracy'; known: accuracy, "));
  CHECK(unknown.message.ends_with(", voc_map"));
  CHECK(refusal(letters + "[early_stop]\nmetric = \"-\"\n").message ==
        "a.toml:4:1: early_stop.metric: expected the name of a metric after '-'");
}

TEST_CASE("a plugin's sampler is named as any other, and brings its own keys") {
  const Override opened{"run.plugins", "[\"" + test::build_path("plugins/edges.so") + "\"]"};
  const Override named{"sampler.name", "edges"};
  auto text = letters + "[sampler]\nname = \"classify\"\nflip = 0.25\n";
  auto config = loaded(text, {opened, named, {"sampler.gain", "3"}});
  auto& sampler = config.table("sampler");
  CHECK(sampler.text("name") == "edges");
  CHECK(sampler.real("gain") == 3);
  CHECK_FALSE(sampler.has("flip"));
  CHECK(refusal(text, {opened, named, {"sampler.gian", "3"}}).message ==
        "--set: unknown key 'sampler.gian'; did you mean 'sampler.gain'?");
  TempFolder temp;
  auto again = load_config(temp.write("again.toml", to_toml(config)));
  CHECK(diff(config, again).empty());
}

TEST_CASE("of two keys that exclude each other the later source's stands; together they are refused") {
  auto config = loaded(letters + "[run]\nmax_epochs = 5\n", {{"run.max_iter", "100", "--max-iter"}});
  CHECK(config.table("run").integer("max_iter") == 100);
  CHECK(config.table("run").integer("max_epochs") == 0);
  auto both = refusal(letters + "[run]\nmax_epochs = 5\nmax_iter = 100\n");
  CHECK(both.message == "a.toml:4:1: run.max_epochs: run.max_iter is given too (a.toml:5:1)");
  CHECK(both.hint == "keep one of the two");
  CHECK_NOTHROW(loaded(letters + "[run]\nmax_epochs = 5\nmax_iter = 0\n"));
}

TEST_CASE("training needs a net and an end") {
  auto no_end = failure_of([] { loaded(letters + "[net]\nname = \"mlp\"\n").check_trainable(); });
  REQUIRE(no_end);
  CHECK(no_end->code == ExitCode::usage);
  CHECK(no_end->message.ends_with("a.toml: neither run.max_iter nor run.max_epochs is given"));
  auto no_net = failure_of([] { loaded(letters + "[run]\nmax_iter = 5\n").check_trainable(); });
  REQUIRE(no_net);
  CHECK(no_net->message.ends_with("a.toml: net.name must be given"));
  CHECK_NOTHROW(
      loaded(letters + "[run]\nmax_epochs = 5\n[net]\nname = \"script\"\nscript = \"m.pt\"\n").check_trainable());
}

TEST_CASE("a table may stand several times where that has a meaning") {
  const std::string cosine = "[[schedule]]\nname = \"cosine\"\nmin_factor = 0.1\n";
  CHECK(loaded(letters).list("optim").size() == 1);
  CHECK(loaded(letters).list("schedule").empty());
  auto config =
      loaded(letters + cosine +
                 "[[schedule]]\nname = \"warmup\"\nlength = 5\n[[optim]]\nlabel = \"a\"\n[[optim]]\nlabel = \"b\"\n",
             {parse_set("schedule.1.length=7"), parse_set("optim.0.lr=2")});
  REQUIRE(config.list("schedule").size() == 2);
  CHECK(config.list("schedule")[0].real("min_factor") == 0.1);
  CHECK(config.list("schedule")[1].integer("length") == 7);
  CHECK(config.list("optim")[0].real("lr") == 2);
  CHECK(config.list("optim")[1].text("label") == "b");
  CHECK(loaded(letters + cosine, {parse_set("schedule=[]")}).list("schedule").empty());
  CHECK(loaded(letters + cosine, {parse_set("schedule=[{name = \"poly\"}]")}).list("schedule")[0].text("name") ==
        "poly");

  CHECK(refusal(letters + "[schedule]\nname = \"cosine\"\n").message ==
        "a.toml:3:2: schedule: expected a list of tables");
  CHECK(refusal(letters + "[[schedule]]\nlength = 3\n").message ==
        "a.toml:4:1: schedule.0.length: no schedule is named");
  auto power = refusal(letters + cosine + "power = 2\n");
  CHECK(power.message == "a.toml:6:1: schedule.0.power: the schedule 'cosine' has no such key");
  CHECK(power.hint == "it is a key of the schedule poly");
  CHECK(
      refusal(letters + "[[schedule]]\nbegin = 3\n").message.starts_with("a.toml:3:1: schedule.0.name: must be given"));
  CHECK(refusal(letters + "[[schedule]]\nname = \"cosin\"\n").message ==
        "a.toml:4:1: schedule.0.name: no schedule is called 'cosin'");
  CHECK(refusal("optim = []\n" + letters).message == "a.toml:1:1: optim: expected one at least");
  auto several = refusal(letters + "[[optim]]\nlabel = \"a\"\n[[optim]]\nlabel = \"b\"\n", {parse_set("optim.lr=1")});
  CHECK(several.message == "--set: optim.lr: there are several [[optim]] (a.toml:3:3)");
  CHECK(several.hint == "count from 0: optim.0.lr");
}

TEST_CASE("a later source's list takes the place of an earlier one's") {
  add_entries();
  TempFolder temp;
  temp.write(
      "base.toml",
      letters + "[lr]\nstepsize = 5\n[[group]]\nparams = \"a\"\n[[group]]\nparams = \"b\"\n[[optim]]\nlabel = \"x\"\n");
  auto config = load_config(temp.write("c.toml",
                                       "base = [\"base.toml\"]\n[[group]]\nparams = \"c\"\n[optim]\nlr = 3\n"
                                       "[[schedule]]\nname = \"cosine\"\n"));
  REQUIRE(config.list("group").size() == 1);
  CHECK(config.list("group")[0].text("params") == "c");
  REQUIRE(config.list("optim").size() == 1);
  CHECK(config.list("optim")[0].text("label").empty());
  CHECK(config.table("lr").given("stepsize") == false);
  // One key of [lr] would remove all schedules.
  const auto refused = failure_of([&] { load_config(temp / "c.toml", {parse_set("lr.stepsize=7")}); });
  REQUIRE(refused);
  CHECK(refused->message.starts_with("--set: lr: [[schedule]] is given too ("));
  CHECK(refused->hint.ends_with("schedule.0.KEY is a key of the first one, also on the command line"));
  CHECK(load_config(temp / "c.toml", {parse_set("schedule.0.end=7")}).list("schedule")[0].integer("end") == 7);
}

TEST_CASE("the share of validation is a share, or the default's -1") {
  CHECK(refusal("[data]\ndataset = \"letters\"\nval_share = -0.5\n").message ==
        "a.toml:3:1: data.val_share: expected a share from 0 to 0.9, or -1 for the default, got -0.5");
  CHECK(loaded("[data]\ndataset = \"letters\"\nval_share = -1\n").data(true).real("val_share") == -1);
}

TEST_CASE("metrics of spans take no tags of words that are no spans") {
  const auto tagged = [](const std::string& tags, const std::string& metric) {
    return letters + "[val]\nmetrics = [\"" + metric +
           "\"]\n[sampler]\nname = \"fields\"\n[[field]]\nname = \"ids\"\n" +
           "as = \"tags\"\nfrom = \"words\"\ntokenizer = \"bytes\"\nmax = 8\ntags_from = \"tags\"\ntags = " + tags +
           "\n";
  };
  const auto refused = refusal(tagged(R"(["O", "PER", "LOC"])", "span_f1"));
  CHECK(refused.message ==
        "a.toml:14:1: field.0.tags: no tag begins a span, and span_f1 (val.metrics, a.toml:4:1) counts spans: O, and "
        "B-X and I-X of each kind X");
  CHECK(refused.hint == "measure accuracy and f1 of tags that are no spans");
  loaded(tagged(R"(["O", "B-PER", "I-PER"])", "span_f1"));
  loaded(tagged(R"(["O", "PER", "LOC"])", "accuracy"));
  CHECK(refusal(letters + "[val]\nmetrics = [\"span_f1\"]\n[sampler]\nname = \"fields\"\n[[field]]\nname = \"tokens\"\n"
                          "as = \"lm\"\nfrom = \"text\"\nmax = 8\n")
            .message ==
        "a.toml:4:1: val.metrics: 'span_f1' counts spans of tags, but the labels are tokens (field.0.as = \"lm\")");
}

TEST_CASE("optimizers and schedules must fit each other") {
  const std::string two = "[[optim]]\nname = \"sgd\"\n[[optim]]\nname = \"sgd\"\n";
  CHECK(refusal(letters + two).message == "a.toml:6:1: optim.1.name: another [[optim]] is called so (a.toml:4:1)");
  auto unknown = refusal(letters + "[[schedule]]\nname = \"cosine\"\noptim = \"adam\"\n");
  CHECK(unknown.message == "a.toml:5:1: schedule.0.optim: no optimizer is called 'adam'");
  CHECK(unknown.hint == "known: sgd");
  CHECK(refusal(letters + "[lr]\nstepsize = 3\n[[schedule]]\nname = \"cosine\"\n").message ==
        "a.toml:4:1: lr: [[schedule]] is given too (a.toml:5:3)");
  const std::string momentum = "[[schedule]]\nname = \"cosine\"\ntarget = \"momentum\"\n";
  const auto without = refusal(letters + "[optim]\nname = \"sgd\"\n" + momentum);
  CHECK(without.message ==
        "a.toml:7:1: schedule.0.target: has no effect: there is no momentum in \"sgd\" (a.toml:4:1)");
  CHECK(without.hint == "leave the schedule out, or give the optimizer a momentum above 0");
  CHECK(refusal(letters + "[optim]\nname = \"adafactor\"\n" + momentum)
            .message.ends_with("there is no momentum in \"adafactor\" (a.toml:4:1)"));
  loaded(letters + "[optim]\nname = \"adamw\"\n" + momentum);
  const std::string decay = "[[schedule]]\nname = \"cosine\"\ntarget = \"weight_decay\"\n";
  CHECK(refusal(letters + decay).message.find("schedule.0.target: has no effect: there is no weight_decay in") !=
        std::string::npos);
  loaded(letters + "[[group]]\nparams = \"a\"\nweight_decay = 0.1\n" + decay);
  CHECK(refusal(letters + "[[group]]\nparams = \"(\"\n")
            .message.starts_with("a.toml:4:1: group.0.params: not a regular expression"));
  CHECK(refusal(letters + "[optim]\nparams = \"" + std::string(1001, '(') + "\"\n")
            .message.ends_with("more than 1000 characters"));
}

TEST_CASE("the list of keys names every table and the keys of entries") {
  add_entries();
  auto text = describe_keys();
  for (auto& table : core_tables())
    if (!table.name.empty())
      CHECK(text.find(table.repeats == Repeats::yes ? "\n[[" + table.name + "]]" : "\n[" + table.name + "]") !=
            std::string::npos);
  for (auto part : {"with dataset = \"letters\"", "with name = \"spiral\"", "  turns = 3  [integer]",
                    "  dataset (must be given)  [text]", "  last_batch = \"wrap\"  [wrap|drop|pad]",
                    "with name = \"mlp\": ", "  hidden = [256, 128]  [list of integers]",
                    "with name = \"cornernet_saccade\": finds pairs of corners", "  att_threshold = 0.3  [number]",
                    "with name = \"stop_file\": ", "  file (must be given)  [text]"})
    CHECK(text.find(part) != std::string::npos);
}

TEST_CASE("what ranks that train together have in common: what decides results, and what they do together and when") {
  const auto config = loaded(letters + "[val]\nevery = 5\nworkers = 3\n[[best]]\nmetric = \"loss\"\n");
  const auto common = common_values(config);
  for (auto key : {"run.seed", "run.max_iter", "loader.batch", "optim.lr", "train.nonfinite", "val.every",
                   "val.metrics", "best.0.metric", "early_stop.patience", "display.every", "snapshot.end_with_best",
                   "snapshot.when_busy", "dist.find_unused", "run.plugins", "data.dataset", "data.val.dataset"}) {
    CAPTURE(key);
    CHECK(common.contains(key));
  }
  for (auto key :
       {"run.dir", "run.device", "loader.workers", "val.workers", "display.progress", "dist.url", "dist.timeout"}) {
    CAPTURE(key);
    CHECK_FALSE(common.contains(key));
  }
}

TEST_CASE("~ at the beginning of a path is the home folder, in files and in flags") {
  add_entries();
  TempFolder temp;
  const std::string before = std::getenv("HOME") ? std::getenv("HOME") : "";
  ::setenv("HOME", temp.path().c_str(), 1);
  const auto home = temp.path().string();
  temp.write("more.toml", "[loader]\nbatch = 3\n");
  auto config =
      load_config(temp.write("a.toml",
                             "base = [\"~/more.toml\"]\n[data]\ndataset = \"letters\"\npath = \"~/p\"\n"
                             "[run]\ndir = \"~\"\nresume = \"~/runs/x\"\n[net]\npretrain = \"~/w.pth\"\n"
                             "[[val.set]]\nname = \"b\"\npath = \"~/b\"\n"
                             "[[hook]]\nname = \"stop_file\"\nfile = \"~/stop\"\nlabel = \"~/label\"\n"),
                  {parse_set("net.name=script"), parse_set("net.script=~/n.pt"), parse_set("data.val.path=~/v")});
  CHECK(config.table("loader").integer("batch") == 3);
  CHECK(config.data(true).text("path") == home + "/p");
  CHECK(config.data(false).text("path") == home + "/v");
  CHECK(config.table("run").text("dir") == home);
  CHECK(config.table("run").text("resume") == home + "/runs/x");
  CHECK(config.table("net").text("pretrain") == home + "/w.pth");
  CHECK(config.table("net").text("script") == home + "/n.pt");
  CHECK(config.list("val.set")[0].text("path") == home + "/b");
  CHECK(config.list("hook")[0].text("file") == home + "/stop");
  CHECK(config.list("hook")[0].text("label") == "~/label");  // no path

  CHECK(loaded(letters + "path = \"a/~/b\"").data(true).text("path") == "a/~/b");
  auto failure = refusal(letters + "path = \"~bob/p\"");
  CHECK(failure.message == "a.toml:3:1: data.path: '~bob/p': only ~ and ~/ are expanded, to your own home folder");
  CHECK(failure.hint == "write the whole path; a file whose name begins with ~ is ./~bob/p");
  failure = refusal("base = [\"~bob/a.toml\"]\n" + letters);
  CHECK(failure.message.starts_with("a.toml:1:9: base: '~bob/a.toml': only ~ and ~/"));
  ::unsetenv("HOME");
  CHECK(refusal(letters + "path = \"~/p\"").message == "a.toml:3:1: data.path: '~/p': HOME is not set");
  if (!before.empty()) ::setenv("HOME", before.c_str(), 1);
}

TEST_CASE("the right spelling of what a shell or a slip made of a value is hinted at") {
  const auto hint = [](const std::string& key, const std::string& value) {
    return refusal(letters + "[net]\nname = \"mlp\"\n", {parse_set(key + "=" + value)}).hint;
  };
  CHECK(hint("val.metrics", "[accuracy]") == "write it as --set 'val.metrics=[\"accuracy\"]'");
  CHECK(hint("val.metrics", "[accuracy, f1]") == "write it as --set 'val.metrics=[\"accuracy\", \"f1\"]'");
  CHECK(hint("val.metrics", "accuracy") == "write it as --set 'val.metrics=[\"accuracy\"]'");
  CHECK(hint("optim.lr", ".5") == "write it as --set optim.lr=0.5");
  CHECK(hint("optim.lr", "-.5") == "write it as --set optim.lr=-0.5");
  CHECK(hint("optim.lr", "5.") == "write it as --set optim.lr=5.0");
  CHECK(hint("optim.lr", "1.e-3") == "write it as --set optim.lr=1.0e-3");
  CHECK(hint("net.hidden", "16,32") == "write it as --set 'net.hidden=[16, 32]'");
  CHECK(hint("run.deterministic", "True") == "write it as --set run.deterministic=true");
  CHECK(refusal(letters + "[optim]\nlr = \"0.5\"").hint == "write it as optim.lr = 0.5");
  // What cannot be known is not guessed.
  for (auto [key, value] : {std::pair{"optim.lr", "fast"},
                            {"optim.lr", "infinity"},
                            {"loader.batch", ".5"},
                            {"net.hidden", "[wide]"},
                            {"run.deterministic", "yes"}})
    CHECK_FALSE(hint(key, value).starts_with("write it"));
}

}  // namespace flowtrain::config_test
