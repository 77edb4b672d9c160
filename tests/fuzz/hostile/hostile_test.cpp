// Files made to harm are refused with a reason, within bounds of memory, and leave nothing behind. Each is
// read in a process of its own.

#include <doctest/doctest.h>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "pipeline/base/config/config.h"
#include "pipeline/base/snapshot/manifest.h"
#include "pipeline/base/snapshot/weights_file.h"
#include "pipeline/base/telemetry/json_lines.h"
#include "pipeline/engine/train/run_state.h"
#include "sampling/codecs/image.h"
#include "sampling/datasets/coco_instances.h"
#include "sampling/datasets/entries.h"
#include "sampling/datasets/idx_file.h"
#include "sampling/datasets/voc_annotation.h"
#include "sampling/datasets/whole_file.h"
#include "tests/fuzz/hostile/hostile.h"
#include "tests/support/fault_points.h"
#include "tests/support/settings_helper.h"

namespace flowtrain::hostile::hostile_test {
namespace {

namespace fs = std::filesystem;

constexpr long max_extra_kib = 64 << 10;
// A picture that chance has given a byte for each 128 pixels is no bomb (refuse_bomb()); reading takes up to 12 bytes
// for a pixel.
constexpr long max_picture_ratio = 128 * 12;
constexpr unsigned patience_s = 600;  // ends what hangs
constexpr rlim_t address_space_bytes = rlim_t{4} << 30;

std::string text_of(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void open_dataset(const DatasetEntry& entry, const fs::path& path) {
  entry.make(settings_for(entry.keys, {{"path", path.string()}}), {});
}

/// Each as the program calls it; a test's own reading of the file counts as memory, too.
const std::map<std::string, void (*)(const fs::path&)> readers = {
    {"image",
     [](const fs::path& path) {
       const auto text = text_of(path);
       Image image;
       decode_image(std::as_bytes(std::span(text)), image);
     }},
    {"idx",
     [](const fs::path& path) {
       const Files files(path.parent_path().string());
       parse_idx(read_whole(files, *files.find(path.filename().string())), path.string());
     }},
    {"image_folder", [](const fs::path& path) { open_dataset(image_folder_entry(), path); }},
    {"webdataset", [](const fs::path& path) { open_dataset(webdataset_entry(), path); }},
    {"weights", [](const fs::path& path) { WeightsFile{path}; }},
    {"config", [](const fs::path& path) { load_config(path).check_trainable(); }},
    {"voc",
     [](const fs::path& path) {
       const auto text = text_of(path);
       parse_voc(std::as_bytes(std::span(text)), path.string());
     }},
    {"coco",
     [](const fs::path& path) {
       std::ifstream stream(path, std::ios::binary);
       read_coco_instances(stream, path.string());
     }},
    {"state", [](const fs::path& path) { RunState::from_json(text_of(path)); }},
    {"manifest", [](const fs::path& path) { parse_manifest(text_of(path), path.string()); }},
};

long peak_kib() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

struct Outcome {
  int status = -1;      ///< as waitpid() gives it; 0: refused
  std::string message;  ///< of the refusal, or of what else was thrown
  long extra_kib = 0;   ///< what reading took beyond what the process had
};

/// Runs `read` in a child that a runaway ends.
Outcome in_a_process(const fs::path& folder, const std::function<void()>& read) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  ::malloc_trim(0);  // or the child would use what this process has freed
  const auto child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::alarm(patience_s);
    const rlimit limit{address_space_bytes, address_space_bytes};
    ::setrlimit(RLIMIT_AS, &limit);
    const auto before_kib = peak_kib();
    std::string message;
    int code = 1;  // accepted
    try {
      fs::current_path(folder);
      read();
    } catch (const UserError& error) {
      message = error.what();
      code = 0;
    } catch (const SampleError& error) {
      message = error.what();
      code = 0;
    } catch (const std::exception& error) {
      message = std::string("not a refusal: ") + error.what();
      code = 2;
    }
    const auto report = std::to_string(peak_kib() - before_kib) + ' ' + message.substr(0, 4000);
    if (::write(ends[1], report.data(), report.size()) < 0) code = 3;
    ::_exit(code);
  }
  ::close(ends[1]);
  Outcome outcome;
  std::string report;
  char piece[4096];
  for (ssize_t got; (got = ::read(ends[0], piece, sizeof piece)) > 0;)
    report.append(piece, static_cast<std::size_t>(got));
  ::close(ends[0]);
  ::waitpid(child, &outcome.status, 0);
  const auto blank = std::min(report.find(' '), report.size());
  outcome.extra_kib = report.empty() ? 0 : std::stol(report.substr(0, blank));
  outcome.message = report.substr(std::min(blank + 1, report.size()));
  return outcome;
}

/// What is read lies in a folder of its own in root; nothing else may be in root afterwards.
struct Root {
  fs::path path = fs::temp_directory_path() / ("flowtrain-hostile-" + std::to_string(::getpid()));
  Root() { fs::create_directories(path / "work"); }
  ~Root() { fs::remove_all(path); }
  std::set<std::string> content() const {
    std::set<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(path)) names.insert(entry.path().string());
    return names;
  }
};

constexpr const char* picture_messages[] = {"PNG: ", "JPEG: ", "WebP: ", "an image of "};

/// What the refusal must name: the file, or what kind of thing it is.
bool is_named(const Case& each, const std::string& message, const fs::path& file) {
  if (each.reader == "image") {
    if (each.bytes.empty()) return message == "the image file is empty";
    const bool known = format_of(std::as_bytes(std::span(each.bytes))).has_value();
    if (!known) return message.starts_with("this is not a JPEG, PNG or ");
    return std::ranges::any_of(picture_messages, [&](const char* begin) { return message.starts_with(begin); });
  }
  if (each.reader == "state") return message.starts_with("state.json");
  return message.find(file.string()) != std::string::npos;
}

/// Has the case read in at most `limit_kib`, and checks what holds for a file that is refused and for one that is not.
/// Returns whether it was refused.
bool check_harmless(const Root& root, const Case& each, long limit_kib = max_extra_kib) {
  CAPTURE(each.what);
  CAPTURE(each.reader);
  const auto file = root.path / "work" / "file";
  {
    std::ofstream stream(file, std::ios::binary | std::ios::trunc);
    stream.write(each.bytes.data(), static_cast<std::streamsize>(each.bytes.size()));
  }
  const auto before = root.content();
  const auto outcome = in_a_process(file.parent_path(), [&] { readers.at(each.reader)(file); });
  CAPTURE(outcome.message);
  const bool refused = outcome.status == 0;
  CHECK((refused || (WIFEXITED(outcome.status) && WEXITSTATUS(outcome.status) == 1)));
  if (refused) {
    CHECK_FALSE(outcome.message.empty());
    CHECK(outcome.message.find('\n') == std::string::npos);
    CHECK(is_named(each, outcome.message, file));
  }
  CHECK(outcome.extra_kib <= limit_kib);
  CHECK(root.content() == before);
  return refused;
}

}  // namespace

TEST_CASE("hostile files are refused by name, within 64 MiB, and leave nothing behind") {
  const Root root;
  FaultPoints points("hostile files");
  for (const auto make : {images, archives, weights, texts})
    for (const auto& each : make()) {
      CHECK_MESSAGE(check_harmless(root, each), each.reader << ": " << each.what);
      points.count();
    }
  points.finish();
}

TEST_CASE("files that chance makes of hostile ones do no harm either" * points_sampled) {
  const Root root;
  std::map<std::string, std::vector<Case>> cases;
  for (const auto make : {images, archives, weights, texts})
    for (auto& each : make())
      if (each.bytes.size() <= 1 << 20) cases[each.reader].push_back(std::move(each));
  FaultPoints points("hostile files made by chance");
  std::uint64_t read = 0;
  for (const std::uint64_t number : points.each()) {
    if (points.tried() >= points.least() * times()) break;
    INFO(points.repeat(number));
    const auto& [reader, parents] = *std::next(cases.begin(), static_cast<std::ptrdiff_t>(number % cases.size()));
    const auto child = changed_by_chance(parents, number);
    const auto backed_kib = reader == "image" ? static_cast<long>(child.bytes.size() >> 10) * max_picture_ratio : 0;
    if (check_harmless(root, child, std::max(max_extra_kib, backed_kib)))
      points.count();
    else
      ++read;
  }
  MESSAGE(read << " others were taken");
  points.finish();
}

TEST_CASE("a journal's hostile lines are cut out") {
  const Root root;
  const auto file = root.path / "work" / "metrics.jsonl";
  for (const auto& line : {std::string(100'000, '['), std::string(1 << 24, 'x'), std::string("{\"iter\":1e999}"),
                           std::string("{\"a\":\"\xff\"}"), std::string(1 << 20, '\0')}) {
    {
      std::ofstream stream(file, std::ios::binary | std::ios::trunc);
      stream << "{\"iter\":1}\n" << line << "\n{\"iter\":2}\n";
    }
    const auto outcome = in_a_process(file.parent_path(), [&] {
      throw UserError(ExitCode::data, std::to_string(cut_back(file, 10)) + " lines cut out");
    });
    CHECK(outcome.message == "1 lines cut out");
    CHECK(outcome.extra_kib <= max_extra_kib);
    CHECK(text_of(file) == "{\"iter\":1}\n{\"iter\":2}\n");
  }
}

}  // namespace flowtrain::hostile::hostile_test
