// verify.jsonl, and the comparison of two runs by it.

#include <doctest/doctest.h>
#include <signal.h>

#include <bit>
#include <fstream>
#include <sstream>

#include "pipeline/base/snapshot/hash.h"
#include "pipeline/base/snapshot/manifest.h"
#include "pipeline/base/snapshot/snapshot_files.h"
#include "pipeline/base/telemetry/log.h"
#include "pipeline/engine/graph/graph.h"
#include "pipeline/engine/train/hash_journal.h"
#include "pipeline/runs/verify/recorded_run.h"
#include "pipeline/runs/verify/verify_report.h"
#include "tests/pipeline/engine/sessions.h"
#include "tests/support/failure_helper.h"
#include "tests/support/fast_folder.h"
#include "tests/support/read_text.h"

namespace flowtrain::hash_journal_test {

using namespace flowtrain::testing;

namespace {

namespace fs = std::filesystem;
using Sets = std::vector<std::string>;

// Whole runs with a journal of each iteration, unless `sets` says otherwise.
struct Journaled {
  Journaled() {
    set_console_level(ConsoleLevel::quiet);
    std::ofstream(folder / "session.toml") << session_config << "[verify]\nevery = 1\n";
  }
  fs::path run(const std::string& name, int ranks = 1, const Sets& sets = {}) const {
    Story story;
    return run(name, ranks, sets, story);
  }
  fs::path run(const std::string& name, int ranks, const Sets& sets, Story& story,
               const std::string& resume = {}) const {
    CHECK(session(folder / "session.toml", folder / name, ranks, sets, resume, story) == 0);
    return folder / name;
  }

  test::FastFolder folder;
  Scheduler scheduler{4};
};

std::vector<ordered_json> lines_of(const fs::path& run) {
  std::ifstream file(run / hash_journal_name);
  std::vector<ordered_json> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(ordered_json::parse(line));
  return lines;
}

void write_lines(const fs::path& run, const std::vector<ordered_json>& lines) {
  std::ofstream file(run / hash_journal_name);
  for (auto& line : lines) file << line.dump() << "\n";
}

const ComparedPart& part(const RunComparison& comparison, Compared kind, const std::string& name) {
  for (auto& each : comparison.parts)
    if (each.kind == kind && each.name == name) return each;
  FAIL("nothing compared called " << name);
  throw 0;
}

void check_says(const std::string& text, const std::string& words) {
  CHECK_MESSAGE(text.find(words) != text.npos, "expected: " << words << "\nin: " << text);
}

struct Killed : std::runtime_error {
  Killed() : std::runtime_error("killed") {}
};

}  // namespace

TEST_CASE("a journal has a line for each iteration that its period divides, with all rows and tensors") {
  const Journaled runs;
  const auto lines = lines_of(runs.run("run", 1, {"verify.every=10", "train.accum=2"}));
  REQUIRE(lines.size() == 4);
  const auto end = read_metrics(runs.folder / "run").end;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    CHECK(lines[i].at("iter") == 10 * (i + 1));
    CHECK(lines[i].at("ids").size() == 24);
    CHECK(lines[i].at("loss") == 1.0 / static_cast<double>(10 * (i + 1)));
    for (const char* field : {"image", "label"})
      CHECK(lines[i].at("rows").at(field).get<std::string>().size() == 24 * 16);
    CHECK(lines[i].at("ranks") == 1);
  }
  const std::string last = lines.back().at("model").at("w");
  CHECK(last == "I64 () " + end->at("params_xxh64").get<std::string>());
}

TEST_CASE("without a period there is no journal, and nothing is hashed") {
  const Journaled runs;
  CHECK_FALSE(fs::exists(runs.run("run", 1, {"verify.every=0"}) / hash_journal_name));
}

TEST_CASE("journals of any number of workers, and of ranks, have the same rows") {
  const Journaled runs;
  const auto one = lines_of(runs.run("one", 1, {"loader.workers=1"}));
  CHECK(lines_of(runs.run("four", 1, {"loader.workers=4", "loader.prefetch=5"})) == one);
  for (int ranks : {2, 3, 5}) {  // 12 rows: of five ranks some have two, some three
    CAPTURE(ranks);
    const auto lines = lines_of(runs.run(std::to_string(ranks), ranks));
    REQUIRE(lines.size() == one.size());
    for (std::size_t i = 0; i < lines.size(); ++i)
      for (const char* key : {"ids", "rows", "model", "loss"}) CHECK(lines[i].at(key) == one[i].at(key));
    CHECK(lines[0].at("ranks") == ranks);
    const auto report = verify_runs(runs.folder / "one", runs.folder / std::to_string(ranks), describe_record);
    CHECK_FALSE(report.comparison.differs());
    check_says(to_text(report), concat("processes: 1 / ", ranks));
  }
}

TEST_CASE("a run that was killed and resumed has the same journal") {
  const Journaled runs;
  const std::string straight = read_text(runs.run("straight") / hash_journal_name);
  for (const std::uint64_t at : {5u, 20u, 21u, 33u}) {
    CAPTURE(at);
    fs::remove_all(runs.folder / "cut");
    for (const bool killed : {true, false}) {
      Story story;
      story.before = [&](int, std::uint64_t iteration) {
        if (iteration == at) {
          if (killed) throw Killed();
          raise(SIGTERM);
        }
      };
      try {
        session(runs.folder / "session.toml", runs.folder / "cut", 1, {}, killed ? "" : "auto", story);
      } catch (const Killed&) {
      }
    }
    Story story;
    runs.run("cut", 1, {}, story, "auto");
    CHECK(read_text(runs.folder / "cut" / hash_journal_name) == straight);
  }
}

TEST_CASE("a journal that cannot be opened does not stop a run") {
  const Journaled runs;
  fs::create_directories(runs.folder / "run");
  fs::create_directories(runs.folder / "run" / hash_journal_name);  // nothing can be appended to a folder
  runs.run("run", 2);
  CHECK(read_metrics(runs.folder / "run").end);
}

TEST_CASE("equal runs are said to be the same, whatever their periods") {
  const Journaled runs;
  const auto a = runs.run("a"), b = runs.run("b", 1, {"verify.every=7"});
  const auto report = verify_runs(a, b, describe_record);
  CHECK_FALSE(report.comparison.differs());
  const auto& ids = part(report.comparison, Compared::ids, "ids");
  CHECK(ids.iterations == 6);  // 7, 14 … 35, and the hash of the order at the end
  check_says(to_text(report), concat(a.string(), " and ", b.string(), " are the same: "));
  check_says(to_text(report), "ids, image, label, loss, gradient norm, parameters, optimizer, validation");
  check_says(to_text(report), "verify.every: 1 / 7");
  CHECK(ordered_json::parse(to_json(report)).at("same") == true);
}

TEST_CASE("a shorter run is compared as far as it goes, and that is said") {
  const Journaled runs;
  const auto report = verify_runs(runs.run("a"), runs.run("b", 1, {"run.max_iter=20"}), describe_record);
  CHECK_FALSE(report.comparison.differs());
  CHECK(report.comparison.end == 20);
  check_says(to_text(report), "a reached iteration 40, b reached 20");
}

TEST_CASE("the first difference is named: iteration, row and record, field, tensor") {
  const Journaled runs;
  const auto a = runs.run("a"), b = runs.run("b");
  const auto lines = lines_of(a);

  auto changed = lines;
  std::string pixels = changed[11].at("rows").at("image");
  pixels[5 * 16 + 3] = pixels[5 * 16 + 3] == '0' ? '1' : '0';
  changed[11]["rows"]["image"] = pixels;
  for (std::size_t i = 11; i < changed.size(); ++i) changed[i]["model"]["w"] = "I64 () 0000000000000000";
  write_lines(b, changed);
  auto report = verify_runs(a, b, describe_record);
  const auto* first = report.comparison.first();
  REQUIRE(first);
  CHECK(first->kind == Compared::field);
  CHECK(first->first->iteration == 12);
  CHECK(first->first->row == 5);
  CHECK(first->first->id_a == lines[11].at("ids")[5].get<std::uint64_t>());
  std::string text = to_text(report);
  check_says(text, "differ: at iteration 12, field 'image' of row 5 of the batch (verify.jsonl)");
  check_says(text, concat("a: id ", *first->first->id_a, ", "));
  check_says(text, concat("flowtrain replay ", b.string(), " --iter 12 --out replay-b-12"));
  check_says(text, "row-0005.png");
  check_says(text, "no key of the sampler and no version differs");
  CHECK(part(report.comparison, Compared::field, "image").different.size() == 1);
  CHECK(part(report.comparison, Compared::model, "parameters").first->iteration == 12);
  const auto json = ordered_json::parse(to_json(report));
  CHECK(json.at("first").at("row") == 5);
  CHECK(json.at("first").at("part") == "image");

  changed = lines;
  changed[20]["model"]["w"] = "I64 () 0123456789abcdef";
  write_lines(b, changed);
  report = verify_runs(a, b, describe_record);
  text = to_text(report);
  check_says(text, "differ: at iteration 21, parameter w, I64 () (verify.jsonl)");
  check_says(text, "a hook, damaged memory or a changed snapshot");

  changed = lines;
  const double loss = lines[2].at("loss");
  changed[2]["loss"] = std::bit_cast<double>(std::bit_cast<std::uint64_t>(loss) + 1);  // one bit
  write_lines(b, changed);
  text = to_text(verify_runs(a, b, describe_record));
  check_says(text, "differ: at iteration 3, the loss (verify.jsonl)");
}

TEST_CASE("other seeds, samplers and rates are named as the likely cause of what they change") {
  const Journaled runs;
  const auto a = runs.run("a");
  const auto first_of = [&](const std::string& name, const Sets& sets, int ranks = 1) {
    return verify_runs(a, runs.run(name, ranks, sets), describe_record);
  };
  auto report = first_of("order", {"order.name=sequential"});
  CHECK(report.comparison.first()->kind == Compared::ids);
  CHECK(report.comparison.first()->first->iteration == 1);
  check_says(to_text(report), "likely cause: order.name (\"shuffle\" / \"sequential\")");

  report = first_of("flips", {"sampler.flip=1.0", "loader.prefetch=3"});
  CHECK(report.comparison.first()->kind == Compared::field);
  check_says(to_text(report), "likely cause: sampler.flip (");
  check_says(to_text(report), "\n  loader.prefetch: 2 / 3");

  report = first_of("rate", {"optim.lr=0.25"});
  CHECK(report.comparison.first()->kind == Compared::model);
  check_says(to_text(report), "likely cause: optim.lr (0.5 / 0.25)");
  CHECK_FALSE(part(report.comparison, Compared::field, "image").first);

  report = first_of("batch", {"loader.batch=10"});
  CHECK(report.comparison.first()->first->row == 10);
  check_says(to_text(report), "(no such row)");
}

TEST_CASE("without journals losses, snapshots and ends are compared, and the way to a journal is told") {
  const Journaled runs;
  const auto a = runs.run("a", 1, {"verify.every=0"}), b = runs.run("b", 1, {"verify.every=0"}),
             c = runs.run("c", 1, {"verify.every=0", "optim.lr=0.25"}),
             d = runs.run("d", 1, {"verify.every=0", "run.seed=7"}), with = runs.run("with");
  auto report = verify_runs(a, b, describe_record);
  CHECK_FALSE(report.comparison.differs());
  check_says(to_text(report), "the runs have no journal of hashes");
  check_says(to_text(report), "--set verify.every=1 writes one");
  check_says(to_text(verify_runs(a, with, describe_record)), concat(a.string(), " has no journal"));
  CHECK_FALSE(verify_runs(with, a, describe_record).comparison.differs());

  report = verify_runs(a, c, describe_record);
  REQUIRE(report.comparison.differs());
  check_says(to_text(report), "likely cause: optim.lr (0.5 / 0.25)");
  report = verify_runs(a, d, describe_record);
  REQUIRE(report.comparison.differs());
  check_says(to_text(report), "the samples up to there (their order_xxh64)");
  check_says(to_text(report), "likely cause: run.seed (1 / 7)");
}

TEST_CASE("a bit of a snapshot is found, with the tensor, also where the journals were written before") {
  const Journaled runs;
  const auto a = runs.run("a"), b = runs.run("b");
  const auto path = find_iteration(b / "snapshots", 30);
  const auto open = open_snapshot(path);
  std::vector<std::byte> bytes(open.model.tensors()[0].data, open.model.tensors()[0].data + 8);
  bytes[2] ^= std::byte{16};
  std::vector<TensorView> model{open.model.tensors()[0]};
  model[0].data = bytes.data();
  write_snapshot(b / "snapshots", {30, model, open.optim.tensors(), open.state_json, open.config_toml});
  const std::string text = to_text(verify_runs(a, b, describe_record));
  check_says(text, "differ: at iteration 30, parameter w, I64 () (snapshots/iter-00000030)");
  check_says(text, "see: flowtrain snapshot diff");

  // The run that goes on from there differs from its next iteration on.
  for (auto& each : list_snapshots(b / "snapshots"))
    if (each.iteration > 30) fs::remove_all(each.path);
  Story story;
  runs.run("b", 1, {}, story, "auto");
  const auto report = verify_runs(a, b, describe_record);
  CHECK(part(report.comparison, Compared::model, "parameters").different.size() > 1);
  CHECK(report.comparison.first()->first->iteration == 30);
}

TEST_CASE("another library, machine or GPU is named, also where the runs are the same") {
  const Journaled runs;
  const auto a = runs.run("a"), b = runs.run("b");
  std::ofstream(a / "env.json") << R"({"command":["x"],"started":"now","cpu":"one","libraries":{"jpeg":"62"}})";
  std::ofstream(b / "env.json") << R"({"command":["y"],"started":"then","cpu":"one","libraries":{"jpeg":"80"}})";
  std::string text = to_text(verify_runs(a, b, describe_record));
  check_says(text, "are the same");
  check_says(text, "environments differ (a / b):\n  libraries.jpeg: 62 / 80\n");
  CHECK(text.find("command") == text.npos);

  auto lines = lines_of(b);
  lines[0]["rows"]["image"] = std::string(12 * 16, '0');
  write_lines(b, lines);
  text = to_text(verify_runs(a, b, describe_record));
  check_says(text, "likely cause: libraries.jpeg (62 / 80)");
  check_says(text, "* libraries.jpeg: 62 / 80");
}

TEST_CASE("a part is equal until its first difference, whichever file has that") {
  const test::FastFolder folder;
  const auto write = [&](const std::string& run, double loss_at_5) {
    fs::create_directories(folder / run);
    std::ofstream(folder / run / "config.toml") << "name = \"x\"\n";
    std::ofstream metrics(folder / run / "metrics.jsonl");
    for (const int i : {2, 5})
      metrics << ordered_json{{"kind", "train"}, {"iter", i}, {"loss", i == 5 ? loss_at_5 : 1.0}}.dump() << "\n";
    std::ofstream journal(folder / run / hash_journal_name);
    for (const int i : {10, 20})
      journal << R"({"iter":)" << i
              << R"(,"ranks":1,"loss":1.0,"ids":[1],"rows":{},"model":{"w":"F32 (1) 0"},"optimizer":{"m":"F32 (1) 0"}})"
              << "\n";
  };
  write("a", 1.0);
  write("b", 2.0);
  const auto comparison = compare_runs(folder / "a", folder / "b");
  const auto loss = std::ranges::find(comparison.parts, "loss", &ComparedPart::name);
  REQUIRE(loss != comparison.parts.end());
  CHECK(loss->first->iteration == 5);
  CHECK(loss->equal_until == 2);
  CHECK(comparison.first()->name == "loss");
}

TEST_CASE("configurations are compared as they are stored: no plugin that they name is opened") {
  const test::FastFolder folder;
  for (const std::string run : {"a", "b"}) {
    fs::create_directories(folder / run);
    std::ofstream(folder / run / "config.toml")
        << "[optim]\nlr = 0." << (run == "a" ? 1 : 2) << "\n[run]\nplugins = [\"/nowhere/received.so\"]\n";
    std::ofstream(folder / run / "env.json") << "{}";
  }
  const auto settings = compare_settings(folder / "a", folder / "b", {});
  CHECK(settings.notes.empty());
  REQUIRE(settings.config.size() == 1);
  CHECK(settings.config[0].key == "optim.lr");
  CHECK(settings.config[0].a == "0.1");
  CHECK(settings.config[0].b == "0.2");
}

TEST_CASE("what is no run, holds nothing in common, or is damaged is an error that says so") {
  const Journaled runs;
  const auto a = runs.run("a"), b = runs.run("b", 1, {"run.max_iter=3", "snapshot.final=false", "verify.every=0"});
  fs::create_directories(runs.folder / "empty");
  check_failure(failure_of([&] { compare_runs(a, runs.folder / "empty"); }), ExitCode::usage, "there is no run in");
  check_failure(failure_of([&] { compare_runs(a, b); }), ExitCode::data, "cannot compare");
  auto text = read_text(a / hash_journal_name);
  text.insert(text.find('\n') + 1, "rubbish\n");
  std::ofstream(a / hash_journal_name) << text;
  check_failure(failure_of([&] { compare_runs(a, a); }), ExitCode::data, "verify.jsonl:2: this is not a line");
  for (const char* line : {R"({"iter":1,"ranks":1,"ids":"none","rows":{},"model":{},"optimizer":{}})",
                           R"({"iter":1,"ranks":1,"ids":[1],"rows":{"image":3},"model":{},"optimizer":{}})",
                           R"({"iter":1,"ranks":"1","ids":[],"rows":{},"model":{},"optimizer":{}})", R"({"iter":1})"}) {
    std::ofstream(a / hash_journal_name) << line << "\n";
    check_failure(failure_of([&] { compare_runs(a, a); }), ExitCode::data, "verify.jsonl:1: this is not a line");
  }
  // A line that is being written, or that a power cut has torn, is left out.
  std::ofstream(a / hash_journal_name) << text.substr(0, text.find('\n') + 1) << "{\"iter\":2,\"ra";
  CHECK(compare_runs(a, a).iterations > 0);
}

}  // namespace flowtrain::hash_journal_test
