// The keys of named parts: which net, loss, optimizer, step, hook or metric is named says which keys its table has.

#include <doctest/doctest.h>

#include "sampling/core/settings.h"
#include "sampling/core/text.h"
#include "tests/pipeline/base/config/support.h"

namespace flowtrain::part_keys_test {

using namespace flowtrain::testing;

namespace {

const std::string mlp = letters + "[net]\nname = \"mlp\"\n";  // four lines

void check_refused(const std::string& text, const std::string& message, const std::string& hint) {
  const auto failure = refusal(text);
  CHECK(failure.message == message);
  CHECK(failure.hint == hint);
}

}  // namespace

TEST_CASE("a key of another net is an error that names the nets which have it") {
  const auto stacks = refusal(mlp, {parse_set("net.stacks=2")});
  CHECK(stacks.message == "--set: net.stacks: the net 'mlp' has no such key");
  CHECK(stacks.hint == "it is a key of these nets: cornernet, cornernet_saccade, cornernet_squeeze");
  check_refused(mlp + "script = \"m.pt\"\n", "a.toml:5:1: net.script: the net 'mlp' has no such key",
                "it is a key of the net script");
  check_refused(letters + "[net]\nname = \"script\"\nscript = \"m.pt\"\ndropout = 0.5\n",
                "a.toml:6:1: net.dropout: the net 'script' has no such key",
                "it is a key of these nets: conformer, crnn, encoder, gpt2, lenet, mlp");
  // Also where its value is the default.
  check_refused(letters + "[net]\nname = \"resnet18\"\ndropout = 0.0\n",
                "a.toml:5:1: net.dropout: the net 'resnet18' has no such key",
                "it is a key of these nets: conformer, crnn, encoder, gpt2, lenet, mlp");
  check_refused(letters + "[net]\nhidden = [8]\n", "a.toml:4:1: net.hidden: no net is named",
                "it is a key of the net mlp");
  CHECK(refusal(mlp + "hiden = [8]\n").message == "a.toml:5:1: unknown key 'net.hiden'; did you mean 'net.hidden'?");
  CHECK_NOTHROW(loaded(mlp + "dropout = 0.5\nhidden = [8]\n"));
  CHECK_NOTHROW(loaded(letters + "[net]\nname = \"cornernet_squeeze\"\nstacks = 1\nstem = [8]\nwidths = [8, 16]\n"));
}

TEST_CASE("a key of another optimizer, loss or hook is an error that names those which have it") {
  check_refused(letters + "[optim]\nname = \"adam\"\nmomentum = 0.5\n",
                "a.toml:5:1: optim.momentum: the optimizer 'adam' has no such key",
                "it is a key of these optimizers: muon, rmsprop, sgd");
  check_refused(letters + "[optim]\nbetas = [0.5, 0.9]\n",
                "a.toml:4:1: optim.betas: the optimizer 'sgd' has no such key",
                "it is a key of these optimizers: adam, adamw, lamb, lion");
  check_refused(letters + "[[optim]]\nname = \"adam\"\neps = 1e-6\n[[optim]]\nlabel = \"second\"\neps = 1e-6\n",
                "a.toml:8:1: optim.1.eps: the optimizer 'sgd' has no such key",
                "it is a key of these optimizers: adam, adamw, lamb, rmsprop");
  check_refused(letters + "[loss]\nname = \"mse\"\nlabel_smoothing = 0.1\n",
                "a.toml:5:1: loss.label_smoothing: the loss 'mse' has no such key",
                "it is a key of the loss cross_entropy");
  const auto pull = refusal(letters + "[loss]\npull_weight = 0.1\n");
  CHECK(pull.message == "a.toml:4:1: loss.pull_weight: the loss 'cross_entropy' has no such key");
  CHECK(pull.hint.ends_with(": cornernet, cornernet_saccade"));
  check_refused(letters + "[[hook]]\nname = \"norms\"\nfile = \"STOP\"\n",
                "a.toml:5:1: hook.0.file: the hook 'norms' has no such key", "it is a key of the hook stop_file");
}

TEST_CASE("net.package chooses its net, loss and step, in place of what an earlier source says") {
  const auto config = loaded(mlp + "hidden = [8]\n", {parse_set("net.package=net.pt2")});
  CHECK(config.table("net").text("name") == "package");
  CHECK(config.table("net").text("package") == "net.pt2");
  CHECK(!config.table("net").boolean("channels_last"));
  CHECK(config.table("loss").text("name") == "output");
  CHECK(config.table("step").text("name") == "package");
  const std::string package = letters + "[net]\npackage = \"net.pt2\"\n";
  CHECK(loaded(package, {parse_set("net.name=lenet")}).table("net").text("name") == "lenet");
  CHECK(loaded(package, {parse_set("net.name=package")}).table("step").text("name") == "package");
  check_refused(mlp + "package = \"net.pt2\"\n",
                "a.toml:4:1: net.name: net.package is given too (a.toml:5:1), whose file decides that",
                "leave out net.name, or net.package");
  check_refused(package + "channels_last = true\n",
                "a.toml:5:1: net.channels_last: net.package is given too (a.toml:4:1), whose file decides that",
                "leave out net.channels_last, or net.package");
}

TEST_CASE("[detect] has the keys of the detector that it names, or of the net's own") {
  const auto detect = [](const std::string& net, const std::string& key) {
    return letters + "[net]\nname = \"" + net + "\"\n[detect]\n" + key + "\n";
  };
  check_refused(detect("mlp", "top_k = 5"), "a.toml:6:1: detect.top_k: no detector is named",
                "it is a key of these detectors: cornernet, cornernet_saccade");
  check_refused(detect("cornernet", "att_threshold = 0.2"),
                "a.toml:6:1: detect.att_threshold: the detector 'cornernet' has no such key",
                "it is a key of the detector cornernet_saccade");
  check_refused(detect("cornernet_saccade", "test_flipped = false"),
                "a.toml:6:1: detect.test_flipped: the detector 'cornernet_saccade' has no such key",
                "it is a key of the detector cornernet");
  check_refused(letters + "[detect]\nref_dets = false\n", "a.toml:4:1: detect.ref_dets: no detector is named",
                "it is a key of the detector cornernet_saccade");
  CHECK(refusal(detect("cornernet", "topk = 5")).message ==
        "a.toml:6:1: unknown key 'detect.topk'; did you mean 'detect.top_k'?");
  CHECK(loaded(detect("mlp", "")).table("detect").keys().size() == 1);
  CHECK(loaded(detect("cornernet_squeeze", "top_k = 5")).table("detect").integer("top_k") == 5);
  CHECK(loaded(detect("cornernet_saccade", "att_max_crops = 5")).table("detect").integer("att_max_crops") == 5);
  CHECK(
      loaded(detect("cornernet_saccade", "name = \"boxes\"\nleast_score = 0.5")).table("detect").real("least_score") ==
      0.5);
  // A stored configuration has the empty name, too.
  CHECK(loaded(detect("cornernet_squeeze", "name = \"\"\ntop_k = 5")).table("detect").integer("top_k") == 5);
  check_refused(detect("cornernet", "name = \"boxes\"\ntop_k = 5"),
                "a.toml:7:1: detect.top_k: the detector 'boxes' has no such key",
                "it is a key of these detectors: cornernet, cornernet_saccade");
  check_refused(detect("mlp", "name = \"boxs\""), "a.toml:6:1: detect.name: no detector is called 'boxs'",
                "did you mean 'boxes'? known: boxes, cornernet, cornernet_saccade");
}

TEST_CASE("a dumped configuration has the keys of the parts that it names, and no others") {
  const auto has = [](const std::string& text, const std::string& key) {
    return text.find("\n" + key + " = ") != std::string::npos;
  };
  const auto plain = to_toml(loaded(mlp));
  for (const std::string key : {"hidden", "dropout", "momentum", "nesterov", "label_smoothing", "top_k", "stacks",
                                "betas", "script", "inputs", "pull_weight", "att_threshold", "test_flipped"}) {
    CAPTURE(key);
    const bool own =
        key == "hidden" || key == "dropout" || key == "momentum" || key == "nesterov" || key == "label_smoothing";
    CHECK(has(plain, key) == own);
  }
  const auto saccade =
      to_toml(loaded(letters + "[net]\nname = \"cornernet_saccade\"\n[loss]\nname = \"cornernet_saccade\"\n"));
  for (auto key : {"stacks", "top_k", "att_threshold", "pull_weight"}) CHECK(has(saccade, key));
  for (auto key : {"hidden", "test_flipped", "label_smoothing"}) CHECK_FALSE(has(saccade, key));
}

TEST_CASE(
    "a later layer that names another part leaves the keys of the earlier one aside, but for those that both have") {
  const std::string text =
      letters +
      "[net]\nname = \"cornernet_saccade\"\nstacks = 1\n[detect]\ntop_k = 5\natt_threshold = 0.2\n"
      "[loss]\nname = \"cornernet\"\npull_weight = 0.2\n[optim]\nname = \"adam\"\nbetas = [0.5, 0.9]\n"
      "[[hook]]\nname = \"norms\"\nevery = 3\n";
  const auto other = loaded(
      text, {parse_set("net.name=cornernet"), parse_set("loss.name=mse"), parse_set("optim.name=sgd"),
             parse_set("optim.momentum=0.9"), parse_set("hook.0.name=stop_file"), parse_set("hook.0.file=STOP")});
  CHECK(other.table("net").integer("stacks") == 1);
  CHECK(other.table("detect").integer("top_k") == 5);
  CHECK_FALSE(other.table("detect").has("att_threshold"));
  CHECK_FALSE(other.table("loss").has("pull_weight"));
  CHECK_FALSE(other.list("optim")[0].has("betas"));
  CHECK(other.list("optim")[0].real("momentum") == 0.9);
  CHECK_FALSE(other.list("hook")[0].has("every"));
  CHECK(other.list("hook")[0].text("file") == "STOP");
  const auto small = loaded(text, {parse_set("net.name=mlp")});
  CHECK_FALSE(small.table("net").has("stacks"));
  CHECK_FALSE(small.table("detect").has("top_k"));

  add_entries();
  TempFolder temp;
  temp.write("base.toml", text);
  const auto above =
      load_config(temp.write("a.toml", "base = [\"base.toml\"]\n[net]\nname = \"lenet\"\ndropout = 0.2\n"));
  CHECK(above.table("net").real("dropout") == 0.2);
  CHECK_FALSE(above.table("detect").has("top_k"));

  // What no part has is a slip in any layer; and within a layer nothing is left aside.
  CHECK(refusal(mlp + "hiden = [8]\n", {parse_set("net.name=lenet")}).message == "a.toml:5:1: unknown key 'net.hiden'");
  CHECK(refusal(mlp, {parse_set("net.hidden=[8]"), parse_set("net.name=lenet")}).message ==
        "--set: net.hidden: the net 'lenet' has no such key");
}

TEST_CASE("a name that no part has is refused at its place, with the known ones") {
  check_refused(letters + "[step]\nname = \"gann\"\n", "a.toml:4:1: step.name: no training step is called 'gann'",
                "did you mean 'gan'? known: gan, package, supervised");
  const auto net = refusal(letters + "[net]\nname = \"mlpp\"\n");
  CHECK(net.message == "a.toml:4:1: net.name: no net is called 'mlpp'");
  CHECK(net.hint.starts_with("did you mean 'mlp'? known: conformer, cornernet, "));
  for (auto& [table, message] : {std::pair<std::string, std::string>{"[loss]", "loss.name: no loss"},
                                 {"[optim]", "optim.name: no optimizer"},
                                 {"[[optim]]", "optim.0.name: no optimizer"},
                                 {"[[hook]]", "hook.0.name: no hook"},
                                 {"[[metric]]", "metric.0.name: no metric"}})
    CHECK(refusal(letters + table + "\nname = \"nosuch\"\n").message ==
          "a.toml:4:1: " + message + " is called 'nosuch'");
  for (const std::string table : {"hook", "metric"})
    CHECK(refusal(concat(letters, "[[", table, "]]\nlabel = \"x\"\n"))
              .message.starts_with("a.toml:3:1: " + table + ".0.name: must be given"));
}

TEST_CASE("a key that a part must be given is missed") {
  CHECK(refusal(letters + "[[hook]]\nname = \"stop_file\"\n")
            .message.starts_with("a.toml:3:1: hook.0.file: must be given"));
  CHECK(refusal(letters + "[net]\nname = \"script\"\n").message.find("net.script: must be given") != std::string::npos);
}

TEST_CASE("a key that [data.train] alone says is held against the data set that [data] names") {
  check_refused(letters + "[data.train]\nbase = 3\n",
                "a.toml:4:1: data.train.base: the data set 'letters' has no such key",
                "it is a key of the data set digits");
}

TEST_CASE("a key of a replaced part that means something else to the new one is left aside") {
  const auto config = loaded(letters + "[[schedule]]\nname = \"plateau\"\nmode = \"min\"\n[val]\nevery = 5\n",
                             {parse_set("schedule.0.name=warmup"), parse_set("schedule.0.length=3")});
  CHECK(config.list("schedule")[0].text("mode") == "auto");
}

}  // namespace flowtrain::part_keys_test
