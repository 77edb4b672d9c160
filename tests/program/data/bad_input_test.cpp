// A fault of the input or the system ends in one message and the right exit code, without a crash or a hang.

#include <doctest/doctest.h>

#include <map>

#include "tests/program/idx_files.h"
#include "tests/program/picture_files.h"
#include "tests/program/refusals.h"
#include "tests/support/paths.h"
#include "tests/support/tar_helper.h"

namespace flowtrain::bad_input_test {
namespace {

namespace fs = std::filesystem;

/// without_shapes(), but for the optimizer, after tables of a test's own: bare keys come first.
std::string without_optim() {
  std::string text = without_shapes();
  text.erase(0, text.find('\n') + 1);
  const auto begin = text.find("[optim]"), end = text.find("[val]");
  return text.erase(begin, end - begin);
}

}  // namespace

TEST_CASE("mistakes in a configuration point at their line") {
  const TempRun place;
  place.folder().write("unknown.toml", "data.dataset = \"shapes\"\n[loader]\nprefetchh = 2\n");
  check_refused(place.run({"unknown.toml"}), 2, {"unknown.toml:3:1", "prefetchh", "prefetch"});
  place.folder().write("type.toml", "data.dataset = \"shapes\"\nloader.prefetch = \"many\"\n");
  check_refused(place.run({"type.toml"}), 2, {"type.toml:2:", "prefetch", "integer"});
  place.folder().write("syntax.toml", "[loader\nbatch = 1\n");
  check_refused(place.run({"syntax.toml"}), 2, {"syntax.toml:1:"});
  place.folder().write("missing.toml", "[net]\nname = \"mlp\"\n");
  check_refused(place.run({"missing.toml"}), 2, {"missing.toml: data.dataset: must be given"});
  check_refused(place.run({"absent.toml"}), 2, {"absent.toml"});
  check_refused(place.train({"--set", "net.name=mlpp"}), 2, {"mlpp", "mlp", "lenet"});
  check_refused(place.train({"--set", "loss.name=cross"}), 2, {"cross_entropy"});
  check_refused(place.train({"--set", "optim.name=adamz"}), 2, {"adamz", "adamw"});
  check_refused(place.train({"--set", "nonsense"}), 2, {"--set", "nonsense"});
  check_refused(place.train({"--set", "loader.batch=0"}), 2, {"loader.batch"});
  check_refused(place.train({"--no-such-flag"}), 2, {"--no-such-flag", "--help"});
  check_refused(place.train({"--no-optim=sideways"}), 2, {"--no-optim=sideways", "backward"});
}

TEST_CASE("contradictions are told before a sample is read, with both places") {
  const TempRun place(without_shapes() + "[[group]]\nparams = 'bias$'\n");
  for (const std::string name : {"a/1.png", "a/2.png", "b/1.png"})
    place.folder().write("pictures/train/" + name, "no picture");
  const Words pictures = with(picture_count, {"--set", "data.bad=stop"});
  check_refused(place.train(pictures), 3,
                {".png: sample:"});  // which is what reading one comes to; two workers race for it
  const auto refused = [&](const Words& more, const Words& texts) {
    check_refused(place.train(with(pictures, more)), 2, texts);
  };
  const auto set = [](const std::string& each) { return Words{"--set", each}; };
  refused(set("net.name=mlpp"), {"net.name", "mlpp"});
  refused(set("loss.name=cross"), {"loss.name", "cross"});
  refused(set("optim.name=adamz"), {"optim.name", "adamz"});
  refused(set("step.name=nosuch"), {"step.name", "nosuch"});
  refused(set("run.max_epochs=2"), {"run.max_epochs", "run.max_iter"});
  refused(set("val.metrics=[\"nosuch\"]"), {"val.metrics", "nosuch"});
  refused(set("early_stop.patience=2"), {"early_stop.patience", "val.every is 0 (--set)"});
  refused(with(set("early_stop.metric=nosuch"), {"--set", "val.every=5", "--set", "early_stop.patience=1"}),
          {"early_stop.metric", "nosuch", "val.metrics"});
  for (auto& [table, texts] : std::map<std::string, Words>{
           {"[[group]]\nparams = '^conv'\n", {"more.toml:2:1: group.", "matches no parameter"}},
           {"[[best]]\nmetric = \"nosuch\"\n", {"more.toml:2:1: best.", "nosuch", "val.metrics"}},
           {"[[hook]]\nname = \"nosuch\"\n", {"more.toml:2:1: hook.", "nosuch"}},
           {"[[optim]]\nlabel = \"one\"\n[[optim]]\nlabel = \"two\"\n",
            {"more.toml:", "another optimizer, too (more.toml:"}}}) {
    CAPTURE(table);
    place.folder().write("more.toml", table + without_optim());
    check_refused(place.run(with({"more.toml"}, pictures)), 2, texts);
  }
}

TEST_CASE("what the sampler gives must be fit for what [batch_augment] does to it") {
  const TempRun place;
  const std::string data = "[data]\ndataset = \"shapes\"\nobjects = 3\n";
  const std::string sampler = "[sampler]\nname = \"cornernet\"\n[batch_augment]\n";
  place.folder().write("mix.toml", data + sampler + "mixup = 0.2\n");
  check_refused(
      place.run({"mix.toml", "--dry-run"}), 2,
      {"mix.toml:7:1: batch_augment.mixup: sampler.name = \"cornernet\" (", "mix.toml:5:1) gives no `image` of bytes"});
  place.folder().write("erase.toml", data + sampler + "erase.prob = 0.2\n");
  check_refused(place.run({"erase.toml", "--dry-run"}), 2,
                {"erase.toml:7:7: batch_augment.erase.prob: sampler.name", "erase.toml:5:1"});
  place.folder().write("color.toml", data + sampler + "color.hue = 0.1\n");
  check_refused(place.run({"color.toml", "--dry-run"}), 2,
                {"batch_augment.color.prob: sampler.name", "color.toml:5:1", "red, green and blue"});
  check_refused(place.train({"--set", "loss.name=cornernet", "--set", "batch_augment.cutmix=1"}), 2,
                {"batch_augment.cutmix", "loss.name"});
}

TEST_CASE("data that is missing, empty or not as it should be is named") {
  const TempRun place(idx_config);
  check_refused(place.train(), 3, {"tiny.toml:7:", "data.path", "no such folder or archive: idx"});

  fs::create_directory(place.path("idx"));
  check_refused(place.train(), 3, {"train-images-idx3-ubyte", "data.path"});

  write_idx(place.folder());
  place.folder().write("idx/train-images-idx3-ubyte", idx_bytes(13, {64, 8, 8}, std::string(64 * 64 * 4, '\0')));
  check_refused(place.train(), 3, {"train-images-idx3-ubyte", "f32", "expected u8"});
  place.folder().write("idx/train-images-idx3-ubyte", idx_bytes(8, {0, 8, 8}, ""));
  check_refused(place.train(), 3, {"train-images-idx3-ubyte", "no images"});
  place.folder().write("idx/train-images-idx3-ubyte", idx_bytes(8, {64, 8, 8}, "short"));
  check_refused(place.train(), 3, {"train-images-idx3-ubyte"});

  write_idx(place.folder());
  check_refused(place.train({"--set", "data.class_names=[\"a\", \"b\", \"c\"]"}), 3, {"class_names", "label 3"});
  check_refused(place.train({"--set", "data.split=validation"}), 2, {"validation", "train or test"});
}

TEST_CASE("a label that the classes do not hold is named, with its sample") {
  const auto jpeg = encode_jpeg(gradient_picture(16, 16, 3));
  const std::string picture(reinterpret_cast<const char*>(jpeg.data()), jpeg.size());
  const TempRun place(without_shapes());
  TarBytes shard;
  for (int i = 0; i < 8; ++i)
    shard.entry(std::to_string(i) + ".jpg", picture).entry(std::to_string(i) + ".cls", i == 6 ? "7" : "1");
  place.folder().write("shard.tar", shard.end());
  const Words webdataset{"--set", "data.dataset=webdataset", "--set", "data.path=shard.tar",
                         "--set", "data.classes=3",          "--set", "val.every=0"};
  check_refused(place.train(webdataset), 3, {"shard.tar", "6", "7"});
}

TEST_CASE("a torn picture is replaced and counted, or ends the run") {
  const TempRun place(without_shapes());
  write_pictures(place.folder());
  SUBCASE("skipped within the budget, in the same way every time") {
    const auto outcome = place.train(with(picture_count, {"--set", "data.max_bad=5"}));
    REQUIRE_EXIT(outcome, 0);
    CHECK_SAYS(outcome, "5.jpg");
    REQUIRE_EXIT(place.train(with(picture_count, {"--set", "data.max_bad=5", "--workers", "4", "--run-dir", "again"})),
                 0);
    CHECK(end_of(place.path("again")) == end_of(place.path("runs/tiny")));
  }
  SUBCASE("data.bad = stop") {
    check_refused(place.train(with(picture_count, {"--set", "data.bad=stop"})), 3, {"5.jpg"});
  }
  SUBCASE("more than the budget") {
    const auto jpeg = read_text(place.path("pictures/train/cat/5.jpg"));
    for (auto name : {"1.jpg", "3.jpg"}) place.folder().write(std::string("pictures/train/cat/") + name, jpeg);
    check_refused(place.train(with(picture_count, {"--set", "data.max_bad=2"})), 3, {"data.max_bad"});
  }
  SUBCASE("none that is good") {
    for (auto& entry : fs::recursive_directory_iterator(place.path("pictures/train")))
      if (entry.is_regular_file()) std::ofstream(entry.path()) << "no picture";
    check_refused(place.train(with(picture_count, {"--set", "data.max_bad=1000"})), 3, {".jpg"});
  }
}

TEST_CASE("what cannot be read or is no picture is in the bad-sample log, of training and validation") {
  const TempRun place(without_shapes());
  write_pictures(place.folder());
  place.folder().write("pictures/train/dog/0.jpg", "");
  place.folder().write("pictures/train/dog/2.jpg", "This is a text.\n");
  place.folder().write("pictures/val/dog/4.jpg", "");
  for (auto name : {"train/dog/6.jpg", "val/cat/7.jpg"})
    fs::permissions(place.path("pictures") / name, fs::perms::none);
  auto bound = place.process_options();
  bound.bound_by_permissions = true;
  auto words = with({"tiny.toml"}, picture_count);
  words = with(words, {"--set", "data.max_bad=5", "--set", "val.every=5"});
  REQUIRE_EXIT(run_program(words, bound), 0);

  std::map<std::string, std::string> reasons;  // of each picture
  std::ifstream bad_sample_log(place.path("runs/tiny/bad_samples.jsonl"));
  for (std::string line; std::getline(bad_sample_log, line);) {
    const auto entry = nlohmann::json::parse(line);
    const std::string name = entry.at("name"), stage = entry.at("stage");
    const std::string reason = stage + ": " + entry.at("reason").get<std::string>();
    CHECK(reasons.emplace(name.substr(name.find('/') + 1), reason).second);
    CHECK(name.find(entry.at("split").get<std::string>() + "/") != std::string::npos);
  }
  CHECK(reasons.size() == 6);
  CHECK(reasons["train/dog/0.jpg"] == "sample: the image file is empty");
  CHECK(reasons["train/dog/2.jpg"] == "sample: this is not a JPEG, PNG or WebP file");
  CHECK(reasons["train/cat/5.jpg"].starts_with("sample: JPEG: "));
  CHECK(reasons["train/dog/6.jpg"].find("Permission denied") != std::string::npos);
  CHECK(reasons["val/dog/4.jpg"] == "sample: the image file is empty");
  CHECK(reasons["val/cat/7.jpg"].starts_with("read: "));

  words.insert(words.begin(), "test");
  const auto tested = run_program(words, bound);
  REQUIRE_EXIT(tested, 0);
  CHECK_SAYS(tested, "bad sample of val ");
  words.insert(words.end(), {"--set", "data.val.max_bad=1"});
  check_refused(run_program(words, bound), 3, {"data.val.max_bad = 1", "val/"});
}

TEST_CASE("a picture that vanishes while the run goes on is replaced and named") {
  const TempRun place(without_shapes());
  write_pictures(place.folder());
  Process process(
      with(with({"tiny.toml"}, picture_count), {"--set", "data.max_bad=5", "--set", "run.max_iter=100000000"}),
      place.process_options());
  REQUIRE(process.wait_for_text("\"iter\":5", place.path("runs/tiny/metrics.jsonl")));
  fs::remove(place.path("pictures/train/dog/2.jpg"));
  CHECK(process.wait_for_text("2.jpg"));
  process.send(SIGINT);
  CHECK_EXIT(process.wait(), 130);
}

TEST_CASE("plugins that cannot be used are named") {
  const TempRun place(idx_config);
  write_idx(place.folder());
  const std::string plugins = test::build_path("test_plugins/");
  auto with_plugin = [&](const std::string& path) {
    return place.train({"--set", "run.plugins=" + toml_list({path})});
  };
  check_refused(with_plugin("./absent.so"), 2, {"run.plugins", "absent.so"});
  check_refused(with_plugin("./tiny.toml"), 2, {"run.plugins", "tiny.toml"});
  check_refused(with_plugin(plugins + "other_abi.so"), 2, {"other_abi.so", "version"});
  check_refused(with_plugin(plugins + "other_size.so"), 2, {"other_size.so"});
  check_refused(with_plugin(plugins + "no_entry.so"), 2, {"no_entry.so"});
}

TEST_CASE("a run's folder that cannot be made is an error of the disk") {
  const TempRun place;
  check_refused(place.train({"--run-dir", "tiny.toml/run"}), 4, {"tiny.toml/run", "--run-dir"});
  check_refused(place.train({"--set", "run.dir=tiny.toml"}), 4, {"tiny.toml", "run.dir"});
}

TEST_CASE("what permissions forbid is named: a run's folder, a configuration, data") {
  const TempRun place(idx_config);
  write_idx(place.folder());
  auto bound = place.process_options();
  bound.bound_by_permissions = true;
  auto train = [&](Words more) {
    more.insert(more.begin(), "tiny.toml");
    return run_program(more, bound);
  };
  REQUIRE_EXIT(train({"--max-iter", "3"}), 0);

  fs::create_directory(place.path("locked"));
  fs::permissions(place.path("locked"), fs::perms::owner_read | fs::perms::owner_exec);
  check_refused(train({"--run-dir", "locked/run"}), 4, {"locked/run", "Permission denied", "--run-dir"});
  fs::permissions(place.path("runs/tiny/snapshots"), fs::perms::owner_read | fs::perms::owner_exec);
  check_refused(train({"--resume", "auto", "--max-iter", "6"}), 4, {"runs/tiny/snapshots", "Permission denied"});
  fs::permissions(place.path("idx/train-images-idx3-ubyte"), fs::perms::none);
  check_refused(train({}), 3, {"train-images-idx3-ubyte", "Permission denied"});
  fs::permissions(place.path("tiny.toml"), fs::perms::none);
  check_refused(train({}), 2, {"tiny.toml", "Permission denied"});
}

TEST_CASE("a start that fails before training leaves no run behind") {
  const TempRun place;
  check_refused(place.train({"--set", "net.pretrain=absent.safetensors"}), 2, {"absent.safetensors"});
  check_refused(place.train({"--set", "data.dataset=image_folder", "--set", "data.path=absent"}), 3, {"absent"});
  check_refused(place.train({"--set", "net.hidden=[-1]"}), 2, {"net.hidden"});
  CHECK((!fs::exists(place.path("runs")) || fs::is_empty(place.path("runs"))));
  check_refused(place.train({"--run-dir", "mine", "--set", "net.pretrain=absent.safetensors"}), 2, {"absent"});
  CHECK_FALSE(fs::exists(place.path("mine")));
}

TEST_CASE("weights and scripts that are none are named") {
  const TempRun place;
  place.folder().write("no-script.pt", "this is no TorchScript");
  check_refused(place.train({"--set", "net.name=script", "--set", "net.script=no-script.pt"}), 2, {"no-script.pt"});
  check_refused(place.train({"--set", "net.pretrain=absent.safetensors"}), 2, {"absent.safetensors", "net.pretrain"});
  const auto torn = place.train({"--set", "net.pretrain=no-script.pt"});
  CHECK_MESSAGE((torn.code == 2 || torn.code == 4), torn);
  CHECK_SAYS(torn, "no-script.pt");
}

}  // namespace flowtrain::bad_input_test
