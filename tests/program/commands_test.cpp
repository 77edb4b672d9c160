// The subcommands, each as a user types it.

#include <doctest/doctest.h>

#include <fstream>
#include <regex>

#include "tests/program/idx_files.h"
#include "tests/support/paths.h"
#include "tests/support/torch_bytes.h"

namespace flowtrain::commands_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

}  // namespace

TEST_CASE("every command helps") {
  const TempRun place;
  for (const std::string command : {"train", "test", "predict", "bench", "replay", "pack", "plan", "graph", "lr-find",
                                    "hooks", "config", "snapshot", "metrics", "plugins", "info", "tokenizer"}) {
    const auto help = place.run({command, "--help"});
    CHECK_EXIT(help, 0);
    CHECK_PRINTS(help, "flowtrain " + command);
  }
  for (auto& words : {Words{"--help"}, Words{"help"}, Words{"--version"}}) CHECK_EXIT(place.run(words), 0);
  CHECK_EXIT(place.run({}), 2);
}

TEST_CASE("the help groups the commands by what people want to do") {
  const std::string help = TempRun().run({"--help"}).out;
  std::size_t at = 0;
  for (auto text : {"\nTrain:\n  [train] CONFIG ", "\nLook at runs:\n  watch RUN ",
                    "\nData and speed:\n  bench CONFIG ", "\nMake your own:\n  info [CONFIG] "})
    CHECK_MESSAGE((at = help.find(text, at)) != help.npos, help);
}

TEST_CASE("metrics prints what a run measured as a table") {
  const TempRun place;
  REQUIRE_EXIT(place.train({"--run-dir", "run", "--max-iter", "40"}), 0);
  for (const std::string kind : {"train", "val"}) {
    CAPTURE(kind);
    const auto lines = metrics_of(place.path("run"), kind);
    const auto table = place.run({"metrics", "run", "--kind", kind});
    REQUIRE_EXIT(table, 0);
    CHECK(std::count(table.out.begin(), table.out.end(), '\n') == static_cast<std::ptrdiff_t>(lines.size()) + 1);
    CHECK(table.out.starts_with("iter,"));
    CHECK_PRINTS(table, "," + lines.back().at("loss").dump() + ",");
  }
  const auto none = place.run({"metrics", "run", "--kind", "nosuch"});
  CHECK_EXIT(none, 2);
  CHECK_SAYS(none, "there are: ");
  CHECK_EXIT(place.run({"metrics", "nowhere"}), 3);
}

TEST_CASE("info and a run's env.json name the machine, its GPUs, and what reaches them") {
  const TempRun place;
  const auto info = place.run({"info"});
  REQUIRE_EXIT(info, 0);
  REQUIRE_EXIT(place.train({"--max-iter", "2", "--device", "cpu"}), 0);
  for (const auto& reported : {json::parse(info.out), json::parse(read_text(place.path("runs/tiny/env.json")))}) {
    CAPTURE(reported.dump());
    for (auto key : {"os", "kernel", "cpu", "host", "torch", "compiler"})
      CHECK(reported.at(key).get<std::string>() != "");
    CHECK(reported.at("memory_bytes") > 0);
    const bool has_gpu = fs::exists("/dev/nvidiactl") || fs::exists("/dev/dxg");
    for (auto key : {"gpus", "cuda_driver", "cuda", "cudnn", "nccl"}) REQUIRE(reported.contains(key));
    CHECK((reported.at("cuda").is_null() ||
           reported.at("cuda").get<std::string>().find('.') != std::string::npos));  // LibTorch's build
    if (has_gpu) continue;
    for (auto key : {"gpus", "cuda_driver", "cudnn", "nccl"}) CHECK(reported.at(key).is_null());
  }
  CHECK(json::parse(info.out).at("cuda_status").is_string());
  CHECK(json::parse(read_text(place.path("runs/tiny/env.json"))).at("device") == "cpu");
}

TEST_CASE("graph draws the stages and their depths") {
  const TempRun place;
  const auto dot = place.run({"graph", "tiny.toml", "--set", "loader.prefetch=3"});
  REQUIRE_EXIT(dot, 0);
  CHECK(dot.out.starts_with("digraph"));
  for (auto text : {"\"sample\"", "\"compute\"", "queue of ", "slabs of ", "val sample"}) CHECK_PRINTS(dot, text);
  CHECK(dot.out != place.run({"graph", "tiny.toml", "--set", "loader.prefetch=5"}).out);
}

TEST_CASE("a word that is no command is called that, with the command that it resembles") {
  const TempRun place;
  for (const char* word : {"frobnicate", "serv"}) {
    const auto refused = place.run({word});
    CHECK_EXIT(refused, 2);
    CHECK_SAYS(refused, std::string("there is no command, file or folder '") + word + "'");
  }
  CHECK_SAYS(place.run({"serv", "runs"}), "did you mean 'serve'?");
  CHECK_SAYS(place.run({"snapshot", "verifi", "runs"}),
             "there is no `flowtrain snapshot verifi`; did you mean 'verify'?");
  CHECK_SAYS(place.run({"plugin", "frobnicate"}), "there is no `flowtrain plugin frobnicate`, but ");
  CHECK_SAYS(place.run({"missing.toml"}), "cannot read the configuration 'missing.toml'");
}

TEST_CASE("an option that does not exist is called that, with the one that it resembles, before what is missing") {
  const TempRun place;
  for (const auto& [words, said] : std::initializer_list<std::pair<Words, const char*>>{
           {{"tiny.toml", "--max-itr", "3"}, "there is no option '--max-itr'; did you mean '--max-iter'?"},
           {{"test", "--itr=3"}, "there is no option '--itr=3'; did you mean '--iter'?"},
           {{"snapshot", "show", "--itre", "3"}, "there is no option '--itre'; did you mean '--iter'?"},
           {{"tiny.toml", "--zzqqzzqqzzqq"}, "there is no option '--zzqqzzqqzzqq'\n"},
           {{"tiny.toml", "other.toml"}, "unexpected argument 'other.toml'"},
           {{"versoin"}, "did you mean 'version'?"}}) {
    const auto refused = place.run(words);
    CHECK_EXIT(refused, 2);
    CHECK_SAYS(refused, said);
  }
}

TEST_CASE("completion prints a script by which bash completes commands, options, keys and their values") {
  const TempRun place;
  auto shell = place.process_options();
  const std::string program = shell.program.string();
  shell.program = "/bin/bash";
  const auto completed = [&](const std::string& words) {
    return run_program({"-c", "source <(" + program + " completion bash); COMP_LINE='" + program + " " + words +
                                  "'; COMP_POINT=${#COMP_LINE}; _flowtrain " + program + "; echo \"${COMPREPLY[*]}\""},
                       shell)
        .out;
  };
  CHECK(completed("postm") == "postmortem\n");
  CHECK(completed("tiny.toml --max-r") == "--max-restarts\n");
  CHECK(completed("train tiny.toml --set loader.read_") == "loader.read_ahead=\n");
  CHECK(completed("train tiny.toml --set data.datas") == "data.dataset=\n");
  CHECK(completed("tiny.toml --set sampler.name=corn") == "cornernet cornernet_saccade\n");
  CHECK(completed("snapshot ave") == "average\n");
  CHECK(completed("snapshot average --keep") == "--keep-statistics\n");
  CHECK(completed("completion ") == "bash zsh fish\n");
  CHECK(completed("train ") == "\n");  // which leaves names of files to bash
}

TEST_CASE("completion words have their help beside them, for zsh and fish") {
  const TempRun place;
  CHECK(place.run({"completion", "words", "postm"}).out.starts_with("postmortem\t"));
  CHECK(place.run({"completion", "words", "tiny.toml", "--set", "net.name=lene"}).out.starts_with("net.name=lenet\t"));
  for (auto shell : {"zsh", "fish"}) CHECK_PRINTS(place.run({"completion", shell}), "completion words");
}

TEST_CASE("config masks secrets, unless it is told to show them") {
  const TempRun place;
  const Words words{"config", "tiny.toml", "--set", "data.path=https://me:word12345@host/x?sig=abcdef"};
  const auto masked = place.run(words);
  REQUIRE_EXIT(masked, 0);
  CHECK_PRINTS(masked, "path = \"https://***@host/x?***\"");
  CHECK_PRINTS(place.run(with(words, {"--secrets"})), "path = \"https://me:word12345@host/x?sig=abcdef\"");
}

TEST_CASE("commands that take a configuration take the folder of a run as well") {
  const TempRun place;
  REQUIRE_EXIT(place.train({"--run-dir", "run", "--max-iter", "2"}), 0);
  for (const Words& words :
       {Words{"config", "run"}, {"plan", "run"}, {"info", "run"}, {"graph", "run"}, {"hooks", "run"}})
    CHECK_EXIT(place.run(words), 0);
  CHECK_PRINTS(place.run({"config", "run"}), "max_iter = 2");
}

TEST_CASE("threads of LibTorch that wait soon sleep, unless the environment says how they wait") {
  const TempRun place;
  REQUIRE_EXIT(place.train({"--run-dir", "run", "--max-iter", "1", "--set", "run.threads=auto"}), 0);
  CHECK(json::parse(read_text(place.path("run/env.json"))).at("environment").at("GOMP_SPINCOUNT") == "1000");
  const ProcessOptions own{.folder = place.folder().path(), .environment = {{"OMP_WAIT_POLICY", "active"}}};
  REQUIRE_EXIT(run_program({"tiny.toml", "--run-dir", "own", "--max-iter", "1"}, own), 0);
  CHECK_FALSE(json::parse(read_text(place.path("own/env.json"))).at("environment").contains("GOMP_SPINCOUNT"));
}

TEST_CASE("config prints what it can read again") {
  const TempRun place;
  const auto first = place.run({"config", "tiny.toml", "--set", "loader.prefetch=3"});
  REQUIRE_EXIT(first, 0);
  place.folder().write("again.toml", first.out);
  const auto second = place.run({"config", "again.toml"});
  REQUIRE_EXIT(second, 0);
  CHECK_PRINTS(second, "prefetch = 3");
  REQUIRE_EXIT(place.train({"--run-dir", "first", "--set", "loader.prefetch=3"}), 0);
  REQUIRE_EXIT(place.run({"again.toml", "--run-dir", "second"}), 0);
  CHECK(end_of(place.path("first")) == end_of(place.path("second")));
}

TEST_CASE("bench writes its metrics") {
  const TempRun place;
  const auto outcome = place.run({"bench", "tiny.toml", "--seconds", "0.2", "--json", "bench.json"});
  REQUIRE_EXIT(outcome, 0);
  const auto report = json::parse(read_text(place.path("bench.json")));
  CHECK(report.at("config") == "tiny");
  CHECK(report.at("workers") == 2);
  REQUIRE_FALSE(report.at("stages").empty());
  for (auto& stage : report.at("stages"))
    for (auto key : {"items_per_s", "mb_per_s", "busy"}) CHECK_MESSAGE(stage.at(key).is_number(), stage.dump());
  for (auto key : {"samples_per_s", "first_batch_s", "cpu_s_per_1000", "peak_rss_mb"})
    CHECK(report.at("pipeline").at(key).get<double>() > 0);
  CHECK(report.at("limit").is_string());
  CHECK(report.at("advice").is_array());
  CHECK(report.at("verdict").at("limit") == report.at("limit"));
  CHECK(report.at("verdict").at("limit_share").get<double>() > 0);
  CHECK_FALSE(report.at("verdict").at("gain").empty());
  CHECK_EXIT(place.run({"bench", "tiny.toml", "--stage", "nonsense"}), 2);
}

TEST_CASE("bench --tune writes the best shape of the loader, with which a run learns the same") {
  const TempRun place;
  const auto outcome =
      place.run({"bench", "tiny.toml", "--tune", "tuned.toml", "--seconds", "0.05", "--json", "tune.json"});
  REQUIRE_EXIT(outcome, 0);
  const auto report = json::parse(read_text(place.path("tune.json")));
  REQUIRE_FALSE(report.at("trials").empty());
  CHECK(report.at("trials")[0].at("workers") == report.at("present").at("workers"));
  CHECK(report.at("speedup").get<double>() >= 1);
  const std::string tuned = read_text(place.path("tuned.toml"));
  CHECK(tuned.find("[loader]\nworkers = " + report.at("best").at("workers").dump() + "\n") != tuned.npos);
  CHECK_EXIT(place.run({"bench", "tiny.toml", "--tune", "a.toml", "--vs", "loader.workers=1"}), 2);
  CHECK_EXIT(place.run({"bench", "tiny.toml", "--tune", "a.toml", "--stage", "read"}), 2);

  REQUIRE_EXIT(place.train({"--run-dir", "first"}), 0);
  place.folder().write("both.toml", "base = [\"tiny.toml\", \"tuned.toml\"]\n");
  REQUIRE_EXIT(place.run({"both.toml", "--run-dir", "second"}), 0);
  CHECK(end_of(place.path("first")) == end_of(place.path("second")));
}

TEST_CASE("test measures the best snapshot, or the one that is named") {
  const TempRun place;
  const auto without = place.run({"test", "tiny.toml"});
  CHECK_EXIT(without, 4);
  CHECK_SAYS(without, "no run called 'tiny'");
  REQUIRE_EXIT(place.train({"--set", "snapshot.keep_last=50"}), 0);
  const auto validated = metrics_of(place.path("runs/tiny"), "val");
  REQUIRE(validated.size() == 3);
  const auto outcome = place.run({"test", "tiny.toml", "--snapshot", "runs/tiny/snapshots/iter-00000060"});
  REQUIRE_EXIT(outcome, 0);
  const auto scalars = json::parse(outcome.out);
  CHECK(scalars.at("accuracy") == validated.back().at("accuracy"));
  CHECK(scalars.at("loss").get<double>() == doctest::Approx(validated.back().at("loss").get<double>()));
  CHECK_EXIT(place.run({"test", "tiny.toml"}), 0);
  CHECK_EXIT(place.run({"test", "tiny.toml", "--iter", "7"}), 0);
  CHECK_EXIT(place.run({"test", "tiny.toml", "--iter", "8"}), 4);

  // A snapshot says all that is needed.
  std::filesystem::remove(place.path("tiny.toml"));
  const auto alone = place.run({"test", "--snapshot", "runs/tiny/snapshots/iter-00000060"});
  REQUIRE_EXIT(alone, 0);
  CHECK(alone.out == outcome.out);
  const auto nothing = place.run({"test"});
  CHECK_EXIT(nothing, 2);
  CHECK_SAYS(nothing, "--snapshot PATH");
}

TEST_CASE("replay rebuilds the same batch every time") {
  const TempRun place;
  REQUIRE_EXIT(place.run({"replay", "tiny.toml", "--iter", "3", "--out", "a"}), 0);
  REQUIRE_EXIT(place.run({"replay", "tiny.toml", "--iter", "3", "--out", "b", "--workers", "4"}), 0);
  REQUIRE_EXIT(place.run({"replay", "tiny.toml", "--iter", "4", "--out", "c"}), 0);
  std::size_t files = 0;
  for (auto& entry : fs::directory_iterator(place.path("a"))) {
    ++files;
    const auto other = place.path("b") / entry.path().filename();
    CHECK_MESSAGE(read_text(entry.path()) == read_text(other), other.string());
  }
  CHECK(files == 17);  // 16 pictures and batch.json
  CHECK(read_text(place.path("a/batch.json")) != read_text(place.path("c/batch.json")));
  CHECK(json::parse(read_text(place.path("a/batch.json"))).at("rows").size() == 16);
  CHECK_EXIT(place.run({"replay", "tiny.toml"}), 2);
  CHECK_EXIT(place.run({"replay", "tiny.toml", "--iter", "0"}), 2);
}

TEST_CASE("replay tells what was drawn to mix and erase, and shows what came of it") {
  const TempRun place;
  const auto replayed = [&](const char* folder, Words words) {
    words.insert(words.begin(), {"replay", "tiny.toml", "--iter", "4", "--out", folder});
    REQUIRE_EXIT(place.run(words), 0);
    return json::parse(read_text(place.path(folder) / "batch.json")).at("rows");
  };
  const Words mixing{"--set", "batch_augment.cutmix=1", "--set", "batch_augment.erase.prob=0.6"};
  const auto plain = replayed("plain", {}), rows = replayed("mixed", mixing);
  CHECK(replayed("again", with(mixing, {"--workers", "4"})) == rows);
  std::size_t erased = 0, changed = 0;
  for (std::size_t i = 0; i < 16; ++i) {
    CHECK(rows[i].at("image") == plain[i].at("image"));  // as its sampler left it
    CHECK(rows[i].at("label") == plain[i].at("label"));
    CHECK(rows[i].at("mix").get<std::string>().starts_with("cutmix 0."));
    CHECK(rows[i].at("mix") == rows[0].at("mix"));
    CHECK(rows[i].at("mixed_with") == rows[i ^ 1].at("position"));
    CHECK_FALSE(plain[i].contains("batch_augment"));
    CHECK_FALSE(plain[i].contains("erased"));
    erased += rows[i].contains("erased");
    const auto picture = rows[i].at("picture").get<std::string>();
    const auto mixed = read_text(place.path("mixed") / picture);
    changed += mixed != read_text(place.path("plain") / picture);
    CHECK(mixed == read_text(place.path("again") / picture));
  }
  CHECK(erased > 0);
  CHECK(erased < 16);
  CHECK(changed == 16);
}

TEST_CASE("the example plugin is described, and trains") {
  const TempRun place(idx_config);
  write_idx(place.folder());
  const auto described = place.run({"plugins", plugin_file("edges")});
  REQUIRE_EXIT(described, 0);
  CHECK_PRINTS(described, "sampler.name = \"edges\": ");
  CHECK_PRINTS(described, "  gain ");
  const auto all = place.run({"plugins"});
  REQUIRE_EXIT(all, 0);
  for (const std::string kind :
       {"data sets (data.dataset)", "samplers (sampler.name)", "orders (order.name)", "nets (net.name)",
        "losses (loss.name)", "optimizers (optim.name)", "schedules (schedule.name)", "training steps (step.name)",
        "hooks (hook.name)", "metrics (val.metrics, metric.name)"})
    CHECK_PRINTS(all, kind + "\n");
  for (const std::string name : {"shapes", "shuffle", "classify", "lenet", "adamw", "cross_entropy", "cosine",
                                 "supervised", "stop_file", "accuracy"})
    CHECK_PRINTS(all, "\n  " + name + " ");
  CHECK_PRINTS(all, "\n  script             net from a TorchScript file\n");
  CHECK_EXIT(place.run({"plugins", "absent.so"}), 2);

  REQUIRE_EXIT(place.train({"--run-dir", "built-in"}), 0);
  const Words edges = with(opening({"edges"}), {"--set", "sampler.name=edges", "--set"});
  REQUIRE_EXIT(place.train(with(edges, {"sampler.gain=2.0"})), 0);
  const auto trained = end_of(place.path("runs/tiny"));
  CHECK(trained.iteration == 20);
  CHECK(trained.order == end_of(place.path("built-in")).order);
  CHECK(trained.params != end_of(place.path("built-in")).params);
  const auto mistyped = place.train(with(edges, {"sampler.gian=2.0"}));
  CHECK_EXIT(mistyped, 2);
  CHECK_SAYS(mistyped, "did you mean 'sampler.gain'?");
}

TEST_CASE("info prints JSON") {
  const TempRun place;
  const auto outcome = place.run({"info"});
  REQUIRE_EXIT(outcome, 0);
  CHECK(json::parse(outcome.out).contains("torch"));
}

TEST_CASE("info and a run's log list the layers of a net with the shapes of their outputs for a batch") {
  const TempRun place;
  const Words frozen{"--set", "net.name=resnet18", "--set", "data.size=32", "--set", "loader.batch=6"};
  const auto info = place.run(with({"info", "tiny.toml"}, frozen));
  REQUIRE_EXIT(info, 0);
  const auto line_of = [&](const std::string& text, const std::string& layer) {
    const auto at = text.find("\n" + layer + " ");
    return at == std::string::npos ? "" : text.substr(at + 1, text.find('\n', at + 1) - at - 1);
  };
  const std::regex conv(R"(conv1 +conv\S* +6x64x16x16 +9,408 +37\.6 kB +trainable)"),
      norm(R"(layer4\.1\.bn2 +batch_norm +6x512x1x1 +1,024 +4\.1 kB +trainable)"),
      last(R"(fc +linear +6x6 +3,078 +12\.3 kB +trainable)");
  CHECK_MESSAGE(std::regex_match(line_of(info.out, "conv1"), conv), info.out);
  CHECK_MESSAGE(std::regex_match(line_of(info.out, "layer4.1.bn2"), norm), info.out);
  CHECK_MESSAGE(std::regex_match(line_of(info.out, "fc"), last), info.out);
  REQUIRE_EXIT(place.train({"--run-dir", "run", "--max-iter", "1"}), 0);
  const std::string log = read_text(place.path("run/train.log"));
  CHECK_MESSAGE(std::regex_search(log, std::regex(R"( debug   net: layers\.0 +linear +16x32 .* trainable\n)")), log);
}

TEST_CASE("runs that only try something leave nothing behind") {
  const TempRun place;
  for (const std::string flag : {"--dry-run", "--no-optim", "--no-optim=backward"}) {
    CHECK_EXIT(place.train({flag, "--max-iter", "10"}), 0);
    CHECK_FALSE(fs::exists(place.path("runs")));
  }
  REQUIRE_EXIT(place.train(), 0);
  const auto dry = place.train({"--dry-run"});
  CHECK_SAYS(dry, "order_xxh64 " + end_of(place.path("runs/tiny")).order);
}

TEST_CASE("only what computes needs LibTorch's library") {
  const TempRun place;
  auto process_options = place.process_options();
  process_options.program = place.path("bin/flowtrain");
  for (auto folder : {"bin", "lib"}) fs::create_directory(place.path(folder));
  fs::copy_file(test::build_path("bin/flowtrain"), process_options.program);
  for (auto& file : fs::directory_iterator(test::build_path("lib")))
    if (file.path().filename().string().find(".so.") != std::string::npos)  // what it links: libraries with a version
      fs::copy(file, place.path("lib") / file.path().filename(), fs::copy_options::copy_symlinks);
  const auto alone = [&](const Words& words) { return run_program(words, process_options); };
  CHECK_EXIT(alone({"tiny.toml", "--dry-run", "--max-iter", "3"}), 0);
  CHECK_EXIT(alone({"bench", "tiny.toml", "--seconds", "0.01"}), 0);
  CHECK_EXIT(alone({"replay", "tiny.toml", "--iter", "1"}), 0);
  for (auto command : {"config", "graph"}) CHECK_EXIT(alone({command, "tiny.toml"}), 0);
  const auto training = alone({"tiny.toml"});
  CHECK_EXIT(training, 2);
  CHECK_SAYS(training, "libflowtrain_torch.so is neither beside the program nor in ../lib");
  CHECK_SAYS(training, "cmake/go build");
  CHECK(!std::filesystem::exists(place.path("runs")));
  fs::create_directories(place.path("share/flowtrain/configs"));
  fs::copy(place.path("tiny.toml"), place.path("share/flowtrain/configs/small.toml"));
  const auto shipped = alone({"config", "configs/small.toml"});  // which the current folder has not
  CHECK_EXIT(shipped, 0);
  CHECK_PRINTS(shipped, "share/flowtrain/configs/small.toml");
}

TEST_CASE("a LibTorch of another version is refused with the way out, before it is loaded") {
  const TempRun place;
  auto process_options = place.process_options();
  process_options.environment = {{"FLOWTRAIN_TORCH", place.path("torch").string()}};
  fs::create_directories(place.path("torch/lib"));
  std::ofstream(place.path("torch/lib/libtorch_cpu.so")) << "no library";
  std::ofstream(place.path("torch/version.py")) << "__version__ = '2.10.1+cpu'\n";
  const auto refused = run_program({"tiny.toml"}, process_options);
  CHECK_EXIT(refused, 2);
  CHECK_SAYS(refused, "torch is LibTorch 2.10.1, but flowtrain needs 2.11");
  CHECK_SAYS(refused, "pip install torch==2.11.0");
  CHECK_EXIT(run_program({"bench", "tiny.toml", "--seconds", "0.01"}, process_options), 0);
}

TEST_CASE("FLOWTRAIN_TORCH names the LibTorch that is used") {
  const TempRun place;
  auto process_options = place.process_options();
  process_options.environment = {{"FLOWTRAIN_TORCH", place.path("").string()}};
  const auto wrong = run_program({"info"}, process_options);
  CHECK_EXIT(wrong, 2);
  CHECK_SAYS(wrong, "has no lib/libtorch_cpu.so");
  const auto built_with = json::parse(place.run({"info"}).out).at("torch_folder").get<std::string>();
  for (const fs::path& folder : {fs::path(built_with), fs::path(built_with).parent_path()}) {
    fs::remove(place.path("moved"));
    fs::create_directory_symlink(folder, place.path("moved"));
    process_options.environment = {{"FLOWTRAIN_TORCH", place.path("moved").string()}};
    const auto right = run_program({"info"}, process_options);
    REQUIRE_EXIT(right, 0);
    CHECK(json::parse(right.out).at("torch_folder").get<std::string>().starts_with(place.path("moved").string()));
  }
}

TEST_CASE("exported weights are where another run starts") {
  const TempRun place;
  REQUIRE_EXIT(place.train(), 0);
  const auto exported = place.run({"export", "runs/tiny", "--out", "weights.safetensors", "--iter", "60"});
  REQUIRE_EXIT(exported, 0);
  CHECK_PRINTS(exported, "iteration 60");
  const auto outcome =
      place.train({"--set", "net.pretrain=weights.safetensors", "--set", "optim.lr=0.0", "--run-dir", "standing"});
  REQUIRE_EXIT(outcome, 0);
  CHECK_SAYS(outcome, "weights from weights.safetensors");
  CHECK(end_of(place.path("standing")).params == end_of(place.path("runs/tiny")).params);
  CHECK_EXIT(place.run({"snapshot", "ls", "runs/tiny"}), 0);
  CHECK_EXIT(place.run({"snapshot", "diff", "runs/tiny", "runs/tiny"}), 0);
  CHECK_EXIT(place.run({"snapshot", "ls", "nowhere"}), 4);

  const auto strict = place.train(
      {"--set", "net.pretrain=weights.safetensors", "--set", "net.strict=true", "--set", "net.hidden=[31]"});
  CHECK_EXIT(strict, 2);
  CHECK_SAYS(strict, "does not fit the net");
}

TEST_CASE("test and export of a run mean the same snapshot, and say which one it is") {
  const TempRun place;
  REQUIRE_EXIT(place.train({"--run-dir", "ranked", "--max-iter", "62"}), 0);
  REQUIRE_EXIT(place.train({"--run-dir", "plain", "--set", "val.every=0"}), 0);
  const auto both_take = [&](const std::string& run, const Words& wish, int iteration, const std::string& why) {
    const auto number = std::to_string(iteration);
    const auto exported = place.run(with({"export", run, "--out", run + ".safetensors"}, wish));
    REQUIRE_EXIT(exported, 0);
    CHECK_PRINTS(exported, "tensors of iteration " + number + (why.empty() ? ", " : " (" + why + "), "));
    const auto tested = place.run(with({"test", run}, wish));
    REQUIRE_EXIT(tested, 0);
    CHECK_SAYS(tested, "iter-000000" + number + (why.empty() ? "\n" : ": " + why + "\n"));
  };
  const auto best = std::filesystem::read_symlink(place.path("ranked/snapshots/best")).string();
  both_take("ranked", {}, std::stoi(best.substr(5)), "the best");
  both_take("ranked", {"--snapshot", "latest"}, 62, "");
  both_take("ranked", {"--iter", "56"}, 56, "");
  both_take("plain", {}, 60, "the newest");
  // A copy whose links became folders, the best one of which is none any more.
  namespace fs = std::filesystem;
  fs::copy(place.path("ranked"), place.path("copied"), fs::copy_options::recursive);
  fs::remove_all(place.path("copied/snapshots/best"));
  fs::copy(place.path("ranked/snapshots/iter-00000056"), place.path("copied/snapshots/best"));
  REQUIRE(best != "iter-00000056");
  both_take("copied", {}, std::stoi(best.substr(5)), "the best");
  CHECK_EXIT(place.run({"export", "plain", "--out", "w.safetensors", "--iter", "60", "--snapshot", "latest"}), 2);
}

TEST_CASE("~ in flags is the home folder, where no shell has seen to it") {
  const TempRun place;
  auto at_home = place.process_options();
  at_home.environment.emplace_back("HOME", place.path("home").string());
  REQUIRE_EXIT(run_program({"tiny.toml", "--run-dir=~/run", "--max-iter", "3"}, at_home), 0);
  CHECK(std::filesystem::exists(place.path("home/run/result.json")));
  const auto refused = run_program({"tiny.toml", "--run-dir=~bob/run"}, at_home);
  CHECK_EXIT(refused, 2);
  CHECK_SAYS(refused, "'~bob/run': only ~ and ~/ are expanded");
  CHECK_SAYS(refused, "./~bob/run");
}

TEST_CASE("weights that Python's torch.save wrote are where a run starts") {
  const TempRun place;
  const test::PyTensor bias{.shape = {32}, .strides = {1}, .elements = 32};
  std::string values;
  for (int i = 0; i < 32; ++i) values += test::le(0.125f * static_cast<float>(i));
  const auto pickle = test::py_whole(test::py_dict({{"module.layers.0.bias", bias.text()}}));
  place.folder().write("weights.pth", test::torch_zip(pickle, {{"m/data/0", values}}));
  const auto outcome = place.train({"--set", "net.pretrain=weights.pth", "--initialize"});
  REQUIRE_EXIT(outcome, 0);
  CHECK_SAYS(outcome, "weights from weights.pth: 1 of 4 tensors");
  REQUIRE_EXIT(place.run({"export", "runs/tiny", "--out", "began.safetensors"}), 0);
  CHECK(read_text(place.path("began.safetensors")).find(values) != std::string::npos);
}

}  // namespace flowtrain::commands_test
