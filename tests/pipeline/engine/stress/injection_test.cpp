// Errors of every kind, thrown in every stage at random positions: the run ends with that error, naming stage
// and sample, without a hang, and leaves no thread and no open file.

#include <doctest/doctest.h>
#include <pthread.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <new>

#include "pipeline/base/telemetry/log.h"
#include "pipeline/engine/train/display.h"
#include "pipeline/engine/train/trainer.h"
#include "sampling/core/error.h"
#include "sampling/core/out_of_memory.h"
#include "tests/pipeline/engine/leak_check.h"
#include "tests/pipeline/engine/stress/hashing_learner.h"
#include "tests/support/fakes.h"
#include "tests/support/fault_points.h"
#include "tests/support/temp_folder.h"

namespace {
// Fails one allocation of a thread that lets no other error in from outside: the display's next one for the fields of a
// line of metrics (room for 16 of them), or the snapshot thread's next one of any size.
std::atomic<bool> display_has_no_memory{false}, snapshot_has_no_memory{false};
constexpr std::size_t fields_bytes = 16 * sizeof(flowtrain::ordered_json::object_t::value_type);

bool on_thread(const char* wanted) {
  char name[16] = {};
  pthread_getname_np(pthread_self(), name, sizeof name);
  return std::string_view(name) == wanted;
}

bool fails(std::size_t bytes) {
  if (snapshot_has_no_memory.load(std::memory_order_relaxed) && on_thread("ft-snapshot"))
    return snapshot_has_no_memory.exchange(false);
  if (bytes == fields_bytes && display_has_no_memory.load(std::memory_order_relaxed) && on_thread("ft-display"))
    return display_has_no_memory.exchange(false);
  return false;
}
}  // namespace

[[gnu::noinline]] void* operator new(std::size_t bytes) {
  if (fails(bytes)) throw std::bad_alloc();
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
// std::stable_sort uses this one; under a sanitizer it would otherwise not come from malloc.
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return std::malloc(bytes); }
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace flowtrain::injection_test {

using namespace flowtrain::testing;

namespace {

enum class Place {
  plan,
  schedule,
  order,
  read,
  sample,
  val_read,
  val_sample,
  start_copy,
  wait_copy,
  consumed,
  wait_host_free,
  backward,
  update,
  validate,
  copy_state,
  display,
  snapshot
};
constexpr int places = 17;
const char* const place_names[places] = {"plan",           "schedule",   "order",      "read",      "sample",
                                         "val_read",       "val_sample", "start_copy", "wait_copy", "consumed",
                                         "wait_host_free", "backward",   "update",     "validate",  "copy_state",
                                         "display",        "snapshot"};

enum class Thrown { runtime, user, memory, number };

// Counts the calls at one place, and throws once, at the n-th.
class Fault {
 public:
  Fault(Place place, Thrown kind, std::uint64_t at) : place_(place), kind_(kind), at_(at) {}

  void at(Place place, std::uint64_t id = 0) {
    if (place != place_ || count_.fetch_add(1) + 1 != at_) return;
    id_ = id;
    switch (kind_) {
      case Thrown::runtime: throw std::runtime_error("injected");
      case Thrown::user: throw UserError(ExitCode::numerics, "injected", "a hint");
      case Thrown::memory: throw std::bad_alloc();
      case Thrown::number: throw 42;
    }
  }
  bool fired() const { return count_ >= at_; }
  std::uint64_t id() const { return id_; }

 private:
  Place place_;
  Thrown kind_;
  std::uint64_t at_;
  std::atomic<std::uint64_t> count_{0}, id_{0};
};

class FaultyDevice : public CopyingDevice {
 public:
  explicit FaultyDevice(Fault& fault) : fault_(fault) {}
  void start_copy(std::uint32_t slot, void* to, const void* from, std::size_t bytes) override {
    fault_.at(Place::start_copy);
    CopyingDevice::start_copy(slot, to, from, bytes);
  }
  void wait_copy(std::uint32_t) override { fault_.at(Place::wait_copy); }
  void consumed(std::uint32_t) override { fault_.at(Place::consumed); }
  void wait_host_free(std::uint32_t) override { fault_.at(Place::wait_host_free); }

 private:
  Fault& fault_;
};

class FaultyOrder : public FakeOrder {
 public:
  FaultyOrder(std::uint64_t count, Fault& fault) : FakeOrder(count, 7), fault_(fault) {}
  std::uint64_t at(std::uint64_t epoch, std::uint64_t index) const override {
    fault_.at(Place::order);
    return FakeOrder::at(epoch, index);
  }

 private:
  Fault& fault_;
};

struct Shape {
  std::filesystem::path folder;
  bool resident, snapshots;
  unsigned workers;
  std::uint32_t prefetch;
};

// A whole run with validation, a display, and snapshots where they are wanted; damaged samples on the way, which are no
// errors.
void run_with(Fault& fault, const Shape& shape) {
  constexpr std::uint32_t batch = 8;
  FakeDataset dataset(256, 16, shape.resident), val_dataset(24, 16, false);
  FakeSampler sampler(16), val_sampler(16);
  dataset.before_read = [&](std::uint64_t id) {
    if (id % 64 == 9) throw SampleError("damaged");
    fault.at(Place::read, id);
  };
  sampler.before_sample = [&](std::uint64_t id) {
    if (id % 64 == 10) throw SampleError("cannot be decoded");
    fault.at(Place::sample, id);
  };
  val_dataset.before_read = [&](std::uint64_t id) { fault.at(Place::val_read, id); };
  val_sampler.before_sample = [&](std::uint64_t id) { fault.at(Place::val_sample, id); };
  const FaultyOrder order(256, fault);
  const FakeOrder val_order(24, 3);
  FaultyDevice device(fault);

  RunPlan run_plan;
  run_plan.last = 24;
  run_plan.validate_every = 6;
  run_plan.snapshot_every = 5;
  auto plan = [&](std::uint64_t iteration) {
    fault.at(Place::plan);
    return run_plan.plan(iteration);
  };
  auto hyper = [&](Plan& filled) {
    fault.at(Place::schedule);
    filled.hyper = run_plan.hyper(filled.iteration);
  };
  Loader line({"train", dataset, order, sampler, device, Batches(256, batch, LastBatch::wrap), 42, batch, 1,
               shape.workers, 2, shape.prefetch, run_plan.first, run_plan.last, plan, hyper});
  Loader val(
      {"val", val_dataset, val_order, val_sampler, device, Batches(24, batch, LastBatch::pad), 42, batch, 1, 1, 1, 2});
  HashingLearner::Hooks hooks;
  hooks.backward = [&](const Slab&) { fault.at(Place::backward); };
  hooks.update = [&] {
    fault.at(Place::update);
    try {
      fault.at(Place::display);
    } catch (...) {
      display_has_no_memory = true;
    }
  };
  hooks.validate = [&] { fault.at(Place::validate); };
  hooks.copy_state = [&] {
    fault.at(Place::copy_state);
    try {
      fault.at(Place::snapshot);
    } catch (...) {
      snapshot_has_no_memory = true;
    }
  };
  HashingLearner learner(hooks);
  BadSamples bad(dataset, {"train", 100}, [](const BadSamples::Entry&) {}), bad_val(val_dataset, {"val", 100}, {});
  MetricsFile metrics(shape.folder / "metrics.jsonl");
  Display display(ProgressMode::off, run_plan.last, &metrics);
  SnapshotPolicy policy;
  policy.folder = shape.folder / "snapshots";
  SnapshotBranch snapshots(policy, nullptr);

  TrainerParts parts{run_plan, line};
  parts.validation.sets.push_back({"", val, 3, bad_val});
  parts.learner = &learner;
  parts.bad_samples = &bad;
  parts.reports.loggers.outlets.to = {&display};
  parts.snapshots.to = shape.snapshots ? &snapshots : nullptr;
  parts.reports.every = 1;
  Trainer(parts, {}).run();
  display.finish();
}

// What a run with the fault ends with, as "kind: message"; empty: it went through.
std::string ending(Fault& fault, const Shape& shape) {
  const Watchdog watchdog(600);
  try {
    run_with(fault, shape);
  } catch (const UserError& error) {
    return "user " + std::to_string(static_cast<int>(error.code())) + " " + error.hint() + ": " + error.what();
  } catch (const InternalError& error) {
    return std::string("internal: ") + error.what();
  } catch (const std::bad_alloc&) {
    return "memory: ";
  } catch (const std::runtime_error& error) {
    return std::string("runtime: ") + error.what();
  } catch (int number) {
    return "number: " + std::to_string(number);
  }
  return "";
}

// In the stages that know the sample everything but a user's error, and a lack of memory, is an internal one.
std::string expected_ending(Place place, Thrown kind, std::uint64_t id) {
  std::string where;
  if (place == Place::read || place == Place::val_read) where = "stage read, fake #" + std::to_string(id) + ": ";
  if (place == Place::sample || place == Place::val_sample) where = "stage sample, fake #" + std::to_string(id) + ": ";
  if (place == Place::display) return "memory: ";
  if (place == Place::snapshot) return "";  // a warning: training goes on
  const std::string internal = where.empty() ? "" : "internal: ";
  switch (kind) {
    case Thrown::user: return "user 5 a hint: " + where + "injected";
    case Thrown::runtime: return (internal.empty() ? "runtime: " : internal) + where + "injected";
    case Thrown::memory:
      return internal.empty() ? "memory: "
                              : std::string("user 2 ") + out_of_memory_hint + ": " + where + "no memory is left";
    case Thrown::number: return internal.empty() ? "number: 42" : internal + where + "an exception of unknown type";
  }
  return "";
}

// How often a place is reached in a run: the fault comes within the first `calls` of them.
std::uint64_t calls(Place place) {
  switch (place) {
    case Place::plan:
    case Place::schedule: return 24;
    case Place::order: return 190;
    case Place::read:
    case Place::sample: return 180;
    case Place::val_read:
    case Place::val_sample: return 90;
    case Place::start_copy:
    case Place::wait_copy:
    case Place::consumed:
    case Place::wait_host_free: return 30;
    case Place::backward:
    case Place::update: return 24;
    case Place::validate: return 12;
    case Place::copy_state:
    case Place::snapshot: return 4;
    case Place::display: return 20;
  }
  return 1;
}

}  // namespace

TEST_CASE("an error of any kind in any stage, at any position, ends the run as itself and leaves nothing behind" *
          points_sampled) {
  FaultPoints points("line: errors injected");
  set_console_level(ConsoleLevel::quiet);
  constexpr unsigned workers = 4;
  const auto most = most_threads(workers, 2);  // training and validation
  const Scheduler scheduler(workers);
  const TempFolder folder;
  std::array<std::uint64_t, places> fired{};
  Fault none(Place::plan, Thrown::runtime, 1'000'000);
  for (int i = 0; i < 3; ++i) REQUIRE(ending(none, {folder.path(), false, true, workers, 4}) == "");
  const auto files_before = open_files();
  for (const std::uint64_t round : points.each(1200 * times())) {
    INFO(points.repeat(round));
    points.count();
    Stream random(1, Purpose::init, round);
    const auto place = static_cast<Place>(round % places);
    const auto kind = static_cast<Thrown>(random.below(4));
    Fault fault(place, kind, 1 + random.below(calls(place)));
    Shape shape{folder.path(), random.below(2) == 1, false, static_cast<unsigned>(1 + random.below(4)),
                static_cast<std::uint32_t>(1 + random.below(8))};
    // Snapshots wait for the disk: not in every round.
    shape.snapshots = place == Place::copy_state || place == Place::snapshot || random.below(16) == 0;
    const std::string seen = ending(fault, shape);
    CHECK_FALSE(display_has_no_memory.exchange(false));
    CHECK_FALSE(snapshot_has_no_memory.exchange(false));
    std::filesystem::remove_all(folder.path() / "snapshots");
    CAPTURE(place_names[round % places]);
    REQUIRE(fault.fired());
    std::string expected = expected_ending(place, kind, fault.id());
    if (place == Place::order) {
      const std::string begin = kind == Thrown::user     ? "user 5 a hint"
                                : kind == Thrown::memory ? std::string("user 2 ") + out_of_memory_hint
                                                         : "internal";
      expected = begin + ": stage plan, position ";
    }
    CHECK(seen.substr(0, place == Place::order ? expected.size() : seen.npos) == expected);
    CHECK(settled(own_threads, 0) == 0);
    ++fired[static_cast<std::size_t>(place)];
  }
  CHECK(settled(threads, most) <= most);
  CHECK(open_files() == files_before);
  if (points.tried() > places)
    for (auto count : fired) CHECK(count > 0);
  points.finish();
}

}  // namespace flowtrain::injection_test
