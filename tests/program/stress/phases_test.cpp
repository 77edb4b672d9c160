// A signal in each phase of each command: the process ends by itself, with the right code; what can be saved is, and
// of what cannot nothing is left.

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <atomic>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>

#include "sampling/core/random.h"
#include "sampling/core/text.h"
#include "tests/program/picture_files.h"
#include "tests/program/ranks.h"
#include "tests/support/fault_points.h"
#include "tests/support/http_server.h"

namespace flowtrain::phases_test {
namespace {

/// What a phase needs while its process lives, and how it is known that the process is in it.
struct Stage {
  Words words;
  std::function<bool(Process&)> reached;
  std::function<void(const Outcome&)> check = [](const Outcome&) {};  ///< beside the code: what is left
};

struct Phase {
  const char* name;
  std::function<Stage(const TempRun&)> prepare;
};

Words set(const Words& settings) {
  Words words;
  for (auto& each : settings) words.insert(words.end(), {"--set", each});
  return words;
}

/// Notes at which points of the run the process is, in the file notes.0.
const std::string noted =
    with_plugins({"every_point"}, std::string(tiny_config) + "[[hook]]\nname = \"every_point\"\nlog = \"notes\"\n");
// Long enough for a run that nobody ends to be found out by the test's time limit.
const Words endless = set({"run.max_iter=100000000", "run.grace_seconds=600", "snapshot.every=50", "val.every=0"});

std::function<bool(Process&)> when_noted(const TempRun& place, const std::string& text) {
  return [&place, text](Process& process) { return process.wait_for_text(text, place.path("notes.0")); };
}

std::function<bool(Process&)> when_there(const std::filesystem::path& path) {
  return [path](Process& process) { return process.wait_for([&] { return std::filesystem::exists(path); }); };
}

/// The process reads from the FIFO at `path`, which `open` shall keep open.
std::function<bool(Process&)> when_read(const std::filesystem::path& path, std::shared_ptr<int> open) {
  return [path, open](Process& process) {
    return process.wait_for([&] { return (*open = ::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC)) >= 0; });
  };
}

std::shared_ptr<int> descriptor() {
  return {new int(-1), [](int* open) {
            if (*open >= 0) ::close(*open);
            delete open;
          }};
}

void check_nothing_left(const TempRun& place) {
  CHECK_FALSE(std::filesystem::exists(place.path("run")));
  CHECK_FALSE(std::filesystem::exists(place.path("runs/tiny")));
}

/// The run goes on from the iteration that it ended with, where it had begun one.
void check_saved(const TempRun& place, const Outcome& outcome) {
  const auto run = place.path("run");
  const auto snapshots = metrics_of(run, "snapshot");
  REQUIRE_MESSAGE(!snapshots.empty(), outcome);
  const auto last = snapshots.back().at("iter").get<std::uint64_t>();
  CHECK_SAYS(outcome, "interrupted after iteration " + std::to_string(last) + " (SIG");
  CHECK_MESSAGE(read_text(run / "train.log").find("interrupted after iteration") != std::string::npos, outcome);
}

Stage training(const TempRun& place, const std::string& note, const Words& more) {
  place.folder().write("tiny.toml", noted);
  return {with(with({"tiny.toml", "--run-dir", "run"}, endless), more), when_noted(place, note),
          [&place](const Outcome& outcome) { check_saved(place, outcome); }};
}

const std::vector<Phase> phases = {
    {"start-up",
     [](const TempRun& place) {
       std::filesystem::remove(place.path("tiny.toml"));
       ::mkfifo(place.path("tiny.toml").c_str(), 0600);
       return Stage{{"tiny.toml"}, when_read(place.path("tiny.toml"), descriptor())};
     }},
    {"loading LibTorch",
     [](const TempRun&) {
       return Stage{with({"tiny.toml", "--run-dir", "run"}, endless), [](Process& process) {
                      return process.wait_for([&] {
                        return read_text(concat("/proc/", process.id(), "/maps")).find("libflowtrain_torch") !=
                               std::string::npos;
                      });
                    }};
     }},
    {"indexing",
     [](const TempRun& place) {
       const auto asked = std::make_shared<std::atomic<bool>>(false);
       const auto server = std::make_shared<HttpServer>([asked](const HttpServer::Request&, int) -> HttpServer::Reply {
         *asked = true;
         return {.stall = true};
       });
       place.folder().write("tiny.toml", without_shapes());
       const auto words = set({"data.dataset=webdataset", "data.path=" + server->url("a.tar"), "sampler.size=16"});
       return Stage{with({"tiny.toml", "--run-dir", "run"}, words),
                    [asked, server](Process& process) { return process.wait_for([&] { return asked->load(); }); },
                    [&place](const Outcome&) { check_nothing_left(place); }};
     }},
    {"download",
     [](const TempRun& place) {
       const auto asked = std::make_shared<std::atomic<bool>>(false);
       const auto server =
           std::make_shared<HttpServer>([asked](const HttpServer::Request& request, int number) -> HttpServer::Reply {
             if (number == 0) return HttpServer::range_of(bytes_of(10'000'000), request);
             *asked = true;
             return {.stall = true};
           });
       const auto words = set({"net.pretrain=" + server->url("w"), "net.sha256=" + std::string(64, 'a')});
       return Stage{with({"tiny.toml", "--run-dir", "run"}, words),
                    [asked, server](Process& process) { return process.wait_for([&] { return asked->load(); }); },
                    [&place](const Outcome&) {
                      check_nothing_left(place);
                      for (auto& left : std::filesystem::recursive_directory_iterator(place.path("cache")))
                        CHECK_MESSAGE(left.is_directory(), left.path().string());
                    }};
     }},
    {"batch search",
     [](const TempRun& place) {
       const auto words = with(opening({"own_net"}), set({"loader.batch=auto", "net.name=own_net", "net.note=note",
                                                          "net.slow_ms=1000", "loader.batch_memory_mb=4"}));
       return Stage{with({"tiny.toml", "--run-dir", "run"}, words), when_there(place.path("note")),
                    [&place](const Outcome&) { check_nothing_left(place); }};
     }},
    {"training", [](const TempRun& place) { return training(place, "iteration_begin 3 ", {}); }},
    {"validation",
     [](const TempRun& place) {
       return training(place, "validation_begin", set({"val.every=5", "data.val_samples=10000000"}));
     }},
    {"validation, two ranks",
     [](const TempRun& place) {
       return training(place, "validation_begin",
                       with(set({"val.every=5", "data.val_samples=10000000"}), {"--distributed", "--world-size", "2"}));
     }},
    {"snapshot",
     [](const TempRun& place) {
       return training(place, "snapshot_begin", set({"snapshot.every=3", "net.hidden=[2000, 1000]"}));
     }},
    {"lr-find",
     [](const TempRun& place) {
       place.folder().write("tiny.toml", noted);
       return Stage{{"lr-find", "tiny.toml", "--iterations", "1000000"},
                    when_noted(place, "iteration_begin 12 "),
                    [&place](const Outcome& outcome) {
                      CHECK_FALSE(outcome.out.empty());
                      check_nothing_left(place);
                    }};
     }},
    {"replay",
     [](const TempRun& place) {
       return Stage{with({"replay", "tiny.toml", "--iter", "1", "--out", "out"},
                         set({"data.samples=1000000", "loader.batch=1000", "train.accum=1000"})),
                    when_there(place.path("out/row-0000.png"))};
     }},
    {"replay --loss",
     [](const TempRun& place) {
       place.folder().write("tiny.toml", noted);
       return Stage{with({"replay", "tiny.toml", "--seed", "1", "--iter", "10000000", "--loss"}, endless),
                    when_noted(place, "iteration_begin 3 "), [&place](const Outcome&) { check_nothing_left(place); }};
     }},
    {"pack",
     [](const TempRun& place) {
       return Stage{with({"pack", "tiny.toml", "--out", "packed", "--split", "train", "--shard-samples", "20"},
                         set({"data.samples=100000000"})),
                    [&place](Process& process) {
                      return process.wait_for([&] {
                        std::error_code error;
                        for (std::filesystem::directory_iterator each(place.path("packed"), error), end;
                             !error && each != end; each.increment(error))
                          if (std::filesystem::exists(each->path() / "train-000003.tar")) return true;
                        return false;
                      });
                    },
                    [&place](const Outcome&) { CHECK_FALSE(std::filesystem::exists(place.path("packed"))); }};
     }},
    {"test",
     [](const TempRun& place) {
       REQUIRE_EXIT(place.train({"--run-dir", "run", "--initialize"}), 0);
       return Stage{with({"test", "run"}, set({"data.val_samples=100000000"})),
                    [](Process& process) { return process.wait_for_text("iter-00000000: the newest"); }};
     }},
    {"bench",
     [](const TempRun&) {
       return Stage{{"bench", "tiny.toml", "--stage", "sample", "--seconds", "3600"}, [](Process& process) {
                      return process.wait_for([&] {
                        std::error_code error;
                        const std::filesystem::directory_iterator tasks(concat("/proc/", process.id(), "/task"), error);
                        return std::distance(begin(tasks), end(tasks)) >= 4;  // this object's, main's, two workers
                      });
                    }};
     }},
    {"ranks that wait",
     [](const TempRun& place) {
       const auto words =
           Words{"tiny.toml", "--run-dir", "run", "--distributed", "--world-size",
                 "2",         "--rank",    "0",   "--dist-url",    "file://" + place.path("meet").string()};
       return Stage{words, when_there(place.path("meet")), [&place](const Outcome&) { check_nothing_left(place); }};
     }},
};

const std::vector<int> signals = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};

/// Seconds from the signal to the end, of the slowest of all moments.
using Table = std::map<std::pair<std::size_t, int>, double>;

void print(const Table& table) {
  std::printf("%-22s %8s %8s %8s %8s   (seconds to the end, the slowest)\n", "signal in", "INT", "TERM", "HUP", "USR1");
  for (std::size_t phase = 0; phase < phases.size(); ++phase) {
    std::printf("%-22s", phases[phase].name);
    for (const int signal : signals) {
      const auto found = table.find({phase, signal});
      if (found == table.end())
        std::printf(" %8s", "");
      else
        std::printf(" %8.2f", found->second);
    }
    std::printf("\n");
  }
}

double end_in(const Phase& phase, int signal, std::chrono::milliseconds later) {
  const TempRun place;
  const Stage stage = phase.prepare(place);
  ProcessOptions around = place.process_options();
  around.environment.emplace_back("XDG_CACHE_HOME", place.path("cache").string());
  Process process(stage.words, around);
  REQUIRE(stage.reached(process));
  std::this_thread::sleep_for(later);
  const auto begin = std::chrono::steady_clock::now();
  process.send(signal);
  const auto outcome = process.wait();
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  CHECK_FALSE(outcome.timed_out);
  CHECK_MESSAGE(outcome.code == (signal == SIGINT ? 130 : 143), outcome);
  CHECK_MESSAGE(outcome.err.find("did not end within the grace period") == std::string::npos, outcome);
  CHECK_MESSAGE(outcome.err.find("error") == std::string::npos, outcome);
  stage.check(outcome);
  return taken.count();
}

}  // namespace

// The first moments are when the phase begins, the others up to 300 ms later.
TEST_CASE("a signal in any phase of a command ends it by itself, with its code" * points_sampled) {
  FaultPoints points("signals in a phase");
  constexpr std::uint64_t moments = 3;
  Table table;
  Stream random(7, Purpose::init, 0);
  const std::uint64_t pairs = phases.size() * signals.size();
  for (const std::uint64_t point : points.each(pairs * moments)) {
    INFO(points.repeat(point));
    const std::size_t number = point - 1, phase = number % phases.size();
    const int signal = signals[number / phases.size() % signals.size()];
    CAPTURE(phases[phase].name);
    CAPTURE(signal);
    const std::chrono::milliseconds later(number < pairs ? 0 : random.below(300));
    double& slowest = table[{phase, signal}];
    slowest = std::max(slowest, end_in(phases[phase], signal, later));
    points.count();
  }
  if (FaultPoints::all()) print(table);
  points.finish();
}

}  // namespace flowtrain::phases_test
