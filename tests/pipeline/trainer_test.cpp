#include "pipeline/trainer.h"

#include <doctest/doctest.h>
#include <signal.h>

#include <atomic>
#include <cmath>
#include <thread>

#include "pipeline/snapshot/snapshot_files.h"
#include "pipeline/telemetry/interrupt.h"
#include "sampling/distant.h"
#include "tests/pipeline/fakes.h"
#include "tests/sampling/failure_helper.h"
#include "tests/sampling/temp_folder.h"

using namespace flowtrain;
using namespace flowtrain::testing;

namespace {

// "Learns" by mixing everything it is given into one number, so that any difference in order, data, draws or rate shows.
class MixingLearner : public Learner {
 public:
  void set_learning_rate(double lr) override { lr_ = lr; }
  void backward(Slab& slab) override {
    if (on_train) on_train(slab.ticket());
    if (slab.ticket().micro == 0) gradient_ = 0;
    const auto bytes = slab.layout().bytes();
    for (std::size_t i = 0; i < bytes; i += 7) gradient_ = mix64(gradient_ + static_cast<std::uint64_t>(slab.host()[i]));
  }
  StepResult result() override { return {loss, 1}; }
  void update() override {
    weight_ = mix64((weight_ + gradient_) ^ std::bit_cast<std::uint64_t>(lr_));
    ++updates_;
  }
  void discard() override { ++discarded; }
  bool result_is_cheap() const override { return true; }
  void begin_validation() override { rows_ = 0; }
  void validate(Slab& slab) override {
    if (on_validate) on_validate();
    rows_ += slab.rows().size();
  }
  Figures end_validation() override { return {{"loss", 1.0}, {"rows", static_cast<double>(rows_)}}; }
  void copy_state(LearnerState& state) override {
    state.model.resize(1);
    state.model[0] = {"w", "I64", {}, true, std::vector<std::byte>(8)};
    std::memcpy(state.model[0].bytes.data(), &weight_, 8);
    state.optim = state.model;
    std::memcpy(state.optim[0].bytes.data(), &updates_, 8);
  }
  void load_state(const LearnerState& state) override {
    std::memcpy(&weight_, state.model.at(0).bytes.data(), 8);
    std::memcpy(&updates_, state.optim.at(0).bytes.data(), 8);
  }

  std::function<void(const Ticket&)> on_train;
  std::function<void()> on_validate;
  double loss = 0.5;
  int discarded = 0;

 private:
  double lr_ = 0;
  std::uint64_t weight_ = 1, gradient_ = 0, updates_ = 0;
  std::size_t rows_ = 0;
};

/// Far away: from the read of some position on, nothing comes until it is abandoned. Positions are counted by reads, so
/// it wants one reader.
class FarDataset : public FakeDataset, public Distant {
 public:
  using FakeDataset::FakeDataset;

  /// `then` is called by the first read that waits.
  void away_from(std::uint64_t reads, std::function<void()> then) {
    left_ = static_cast<std::int64_t>(reads);
    then_ = std::move(then);
  }
  Record read(std::uint64_t id, ReadBuffer& buffer) const override {
    const auto left = left_--;
    if (left == 0) then_();
    while (left <= 0 && !abandoned_) std::this_thread::yield();
    if (left <= 0) throw SampleError("the server is away");
    return FakeDataset::read(id, buffer);
  }
  void expect(std::uint64_t) const override {}
  void begin(std::uint64_t) const override {}
  void abandon() const override { abandoned_ = true; }
  std::uint64_t retries() const override { return 0; }

 private:
  std::function<void()> then_;
  mutable std::atomic<std::int64_t> left_{1 << 30};
  mutable std::atomic<bool> abandoned_{false};
};

struct RunSetup {
  unsigned workers = 2;
  std::uint32_t prefetch = 4, accum = 1;
  std::uint64_t last = 60, snapshot_every = 10, validate_every = 0, bad_budget = 0, display_every = 10;
  bool resident = true, skip_when_busy = false, stop_on_error = false;
  std::uint64_t keep_every = 0;
  NonFinitePolicy nonfinite = {};
};

struct Outcome {
  std::string params, order;
  TrainerResult result;
};

// A whole run on fakes. Goes on from the newest snapshot in `folder`, if there is one.
struct World {
  explicit World(const RunSetup& s, const std::filesystem::path& where = {})
      : setup(s), folder(where), dataset(1000, 16, s.resident), val_dataset(100, 16, true) {}

  Outcome run(const Interrupt* interrupt = nullptr) {
    RunState state;
    if (std::filesystem::is_directory(folder))
      if (const auto newest = find_newest(folder).path) {
        const auto snapshot = open_snapshot(*newest);
        state = RunState::from_json(snapshot.state_json);
        learner.load_state(read_tensors(snapshot));
      }
    Schedule schedule;
    schedule.first = state.iteration + 1;
    schedule.last = setup.last;
    schedule.accum = setup.accum;
    schedule.snapshot_every = setup.snapshot_every;
    schedule.validate_every = setup.validate_every;
    schedule.validate_first = state.validation_pending;
    schedule.decay = {0.1, 13, 10, 5, Warmup::automatic, 0, 0.1};
    Line line({"train", dataset, order, sampler, *device, Batches(1000, 32, LastBatch::wrap), 42, 32, setup.accum,
               setup.workers, 1, setup.prefetch, schedule.tickets()});
    Line val({"val", val_dataset, val_order, sampler, *device, Batches(100, 32, LastBatch::pad), 42, 32, 1, 1, 1, 5,
              [next = state.validation_batches]() mutable {
                Ticket ticket;
                ticket.iteration = ++next;
                return ticket;
              }});
    auto note = [this](const BadSamples::Entry& entry) {
      if (entry.tolerated) warnings.push_back(entry.text());
    };
    BadSamples bad(dataset, {"train", setup.bad_budget}, note), bad_val(val_dataset, {"val", setup.bad_budget}, note);
    Display display(ProgressMode::off, schedule.last, nullptr);
    std::unique_ptr<SnapshotBranch> snapshots;
    if (!folder.empty()) snapshots = std::make_unique<SnapshotBranch>(
        SnapshotPolicy{folder, 3, 1, setup.keep_every, setup.skip_when_busy, setup.stop_on_error, ""}, nullptr);
    TrainerParts parts{schedule, line};
    parts.validation = setup.validate_every ? &val : nullptr;
    parts.validation_batches = 4;
    parts.learner = &learner;
    parts.bad_samples = &bad;
    parts.bad_validation_samples = &bad_val;
    parts.display = &display;
    parts.snapshots = snapshots.get();
    parts.interrupt = interrupt;
    parts.display_every = setup.display_every;
    parts.nonfinite = setup.nonfinite;
    Trainer trainer(parts, std::move(state));
    Outcome outcome;
    outcome.result = trainer.run();
    outcome.params = params_xxh64(learner);
    outcome.order = trainer.state().order.hex();
    return outcome;
  }

  RunSetup setup;
  std::filesystem::path folder;
  FarDataset dataset;
  FakeDataset val_dataset;
  FakeSampler sampler{16};
  FakeOrder order{1000, 7}, val_order{100, 7};
  std::unique_ptr<Device> device = make_cpu_device();
  MixingLearner learner;
  std::vector<std::string> warnings;
};

}  // namespace

TEST_CASE("parameters and order do not depend on workers, prefetch, or how often it validates") {
  const Scheduler scheduler(8);
  const Outcome expected = World(RunSetup{}).run();
  CHECK(expected.result.iteration == 60);
  for (unsigned workers : {1u, 2u, 4u})
    for (std::uint32_t prefetch : {1u, 2u, 8u}) {
      RunSetup setup;
      setup.workers = workers, setup.prefetch = prefetch, setup.validate_every = workers * 7;
      const Outcome outcome = World(setup).run();
      CHECK(outcome.params == expected.params);
      CHECK(outcome.order == expected.order);
    }
}

TEST_CASE("a run that died again and again ends as one that never did") {
  const Scheduler scheduler(8);
  for (std::uint32_t accum : {1u, 3u}) {
    RunSetup setup;
    setup.accum = accum, setup.validate_every = 15;
    const Outcome expected = World(setup).run();
    TempFolder folder;
    Stream random(accum, Purpose::init, 0);
    int deaths = 0;
    Outcome outcome;
    for (bool done = false; !done; ++deaths) {
      World world(setup, folder.path());
      const std::uint64_t steps = 5 + random.below(20) * accum;
      world.learner.on_train = [&, left = steps](const Ticket&) mutable {
        if (--left == 0) throw std::runtime_error("killed");
      };
      try {
        outcome = world.run();
        done = true;
      } catch (const std::runtime_error&) {
      }
    }
    CHECK(deaths > 3);
    CHECK(outcome.params == expected.params);
    CHECK(outcome.order == expected.order);
  }
}

TEST_CASE("an interrupted run finishes its step, snapshots, and goes on from there") {
  const Scheduler scheduler(4);
  RunSetup setup;
  setup.snapshot_every = 0, setup.accum = 2;
  const Outcome expected = World(setup).run();
  for (int signal : {SIGINT, SIGTERM}) {
    TempFolder folder;
    {
      const Interrupt interrupt;
      World world(setup, folder.path());
      world.learner.on_train = [&](const Ticket& ticket) {
        if (ticket.iteration == 23 && ticket.micro == 0) raise(signal);
      };
      const Outcome outcome = world.run(&interrupt);
      CHECK(outcome.result.signal == signal);
      CHECK(outcome.result.iteration == 23);
    }
    CHECK(list_snapshots(folder.path()).at(0).iteration == 23);
    const Outcome outcome = World(setup, folder.path()).run();
    CHECK(outcome.params == expected.params);
    CHECK(outcome.order == expected.order);
  }
}

TEST_CASE("an interrupted run whose server is away ends with the last whole iteration, and goes on from there") {
  const Scheduler scheduler(4);
  for (std::uint32_t accum : {1u, 3u}) {
    RunSetup setup;
    setup.snapshot_every = 0, setup.accum = accum, setup.resident = false;
    const Outcome expected = World(setup).run();
    TempFolder folder;
    {
      const Interrupt interrupt;
      World world(setup, folder.path());
      const std::uint64_t batches = 22 * accum + (accum > 1 ? 1 : 0);  // the next is of iteration 23
      std::atomic<std::uint64_t> trained = 0;
      world.learner.on_train = [&](const Ticket&) { ++trained; };
      world.dataset.away_from(batches * 32, [&] {
        while (trained < batches) std::this_thread::yield();
        raise(SIGTERM);
      });
      const Outcome outcome = world.run(&interrupt);
      CHECK(outcome.result.signal == SIGTERM);
      CHECK(outcome.result.iteration == 22);
      CHECK(world.warnings.empty());
      CHECK(world.learner.discarded == (accum > 1 ? 1 : 0));
    }
    CHECK(list_snapshots(folder.path()).at(0).iteration == 22);
    const Outcome outcome = World(setup, folder.path()).run();
    CHECK(outcome.params == expected.params);
    CHECK(outcome.order == expected.order);
  }
}

TEST_CASE("a validation that is interrupted, or was about to begin, is done by the resumed run") {
  const Scheduler scheduler(4);
  RunSetup setup;
  setup.validate_every = 20, setup.snapshot_every = 0;
  for (bool within : {false, true}) {
    TempFolder folder;
    {
      const Interrupt interrupt;
      World world(setup, folder.path());
      if (within) world.learner.on_validate = [] { raise(SIGINT); };
      else world.learner.on_train = [](const Ticket& ticket) {
        if (ticket.iteration == 20) raise(SIGINT);
      };
      CHECK(world.run(&interrupt).result.iteration == 20);
    }
    World world(setup, folder.path());
    int validated = 0;
    world.learner.on_validate = [&] { ++validated; };
    CHECK(world.run().params == World(setup).run().params);
    CHECK(validated == 3 * 4);
  }
}

TEST_CASE("bad samples are counted in step order, and the budget stops the run at the same iteration") {
  const Scheduler scheduler(8);
  auto broken = [](std::uint64_t id) {
    if (id % 100 == 17) throw SampleError("truncated");
  };
  std::vector<std::string> first;
  for (unsigned workers : {1u, 2u, 4u})
    for (bool resident : {true, false}) {
      RunSetup setup;
      setup.workers = workers, setup.resident = resident, setup.bad_budget = 4;
      World world(setup);
      (resident ? world.sampler.before_sample : world.dataset.before_read) = broken;
      const auto failure = failure_of([&] { world.run(); });
      check_failure(failure, Exit::data, "that is more than data.max_bad = 4 allows");
      if (!resident) continue;
      world.warnings.push_back(failure.what());
      if (first.empty()) first = world.warnings;
      CHECK(world.warnings == first);
      CHECK(world.warnings.size() == 5);
    }
  RunSetup stop;
  World world(stop);
  world.sampler.before_sample = broken;
  check_failure(failure_of([&] { world.run(); }), Exit::data, "sample: truncated");
}

TEST_CASE("errors of any stage end the run with that error, at any position") {
  const Scheduler scheduler(4);
  for (std::uint64_t at : {0u, 1u, 31u, 500u, 999u}) {
    RunSetup setup;
    setup.resident = false, setup.last = 40;
    auto fault = [at](std::uint64_t id) {
      if (id == at) throw UserError(Exit::data, "broken " + std::to_string(at));
    };
    {
      World world(setup);
      world.dataset.before_read = fault;
      check_failure(failure_of([&] { world.run(); }), Exit::data, "broken " + std::to_string(at));
    }
    World world(setup);
    world.sampler.before_sample = [&](std::uint64_t id) {
      if (id == at) throw std::runtime_error("broken");
    };
    const auto failure = failure_of<InternalError>([&] { world.run(); });
    CHECK(std::string(failure.what()) == "stage sample, fake #" + std::to_string(at) + ": broken");
  }
}

TEST_CASE("a loss that is not finite stops the run with its samples") {
  const Scheduler scheduler(4);
  World world(RunSetup{});
  world.learner.on_train = [&](const Ticket& ticket) {
    if (ticket.iteration == 9) world.learner.loss = std::nan("");
  };
  check_failure(failure_of([&] { world.run(); }), Exit::numerics, "the loss is nan at iteration 9; samples of its last batch: ");
}

TEST_CASE("an update that is skipped is left out, wherever the run is interrupted; too many in a row end it") {
  const Scheduler scheduler(4);
  RunSetup setup;
  setup.nonfinite = {NonFinitePolicy::Action::skip, 2};
  auto bad_at = [](World& world, std::set<std::uint64_t> iterations) {
    world.learner.on_train = [&world, iterations = std::move(iterations)](const Ticket& ticket) {
      world.learner.loss = iterations.contains(ticket.iteration) ? INFINITY : 0.5;
    };
  };
  World straight(setup);
  bad_at(straight, {9, 20, 21, 40});
  const Outcome expected = straight.run();
  CHECK(straight.learner.discarded == 4);
  CHECK(expected.result.iteration == 60);
  CHECK(expected.order == World(setup).run().order);
  CHECK(expected.params != World(setup).run().params);

  TempFolder folder;
  setup.last = 20;
  World part(setup, folder.path());
  bad_at(part, {9, 20});
  part.run();
  setup.last = 60;
  World rest(setup, folder.path());
  bad_at(rest, {21, 40});
  CHECK(rest.run().params == expected.params);

  World hopeless(setup, folder.path() / "another");
  bad_at(hopeless, {20, 21, 22});
  check_failure(failure_of([&] { hopeless.run(); }), Exit::numerics, "at iteration 22 (2 in a row were skipped)");
}

TEST_CASE("a rollback goes to the newest snapshot, further back where that fails at once, and lowers the rate") {
  const Scheduler scheduler(4);
  TempFolder folder;
  RunSetup setup;
  setup.nonfinite = {NonFinitePolicy::Action::rollback, 2, 0.5};
  setup.last = 33;
  World world(setup, folder.path());
  std::vector<std::uint64_t> weights;  // before each iteration
  LearnerState state;
  world.learner.on_train = [&](const Ticket& ticket) {
    world.learner.loss = ticket.iteration == 32 || ticket.iteration == 33 ? NAN : 0.5;
    world.learner.copy_state(state);
    std::uint64_t weight = 0;
    std::memcpy(&weight, state.model[0].bytes.data(), 8);
    weights.push_back(weight);
  };
  const Outcome outcome = world.run();
  REQUIRE(weights.size() == 33);
  CHECK(weights[32] == weights[30]);  // after iteration 32: those of snapshot 30
  const auto last = open_snapshot(find_newest(folder.path()).path.value());
  CHECK(last.iteration == 33);
  CHECK(read_tensors(last).model[0].bytes == read_tensors(open_snapshot(find_iteration(folder.path(), 20))).model[0].bytes);
  CHECK(RunState::from_json(last.state_json).lr_scale == 0.25);

  setup.last = 40;
  World too_many(setup, folder.path());
  too_many.learner.loss = NAN;
  check_failure(failure_of([&] { too_many.run(); }), Exit::numerics, "at iteration 34 (after 2 rollbacks)");
  World nowhere(setup);
  nowhere.learner.loss = NAN;
  check_failure(failure_of([&] { nowhere.run(); }), Exit::numerics, "there is no snapshot to go back to");
}

TEST_CASE("a snapshot that is due while one is being written waits, or is left out") {
  const Scheduler scheduler(4);
  const Outcome expected = World(RunSetup{}).run();
  for (bool skips : {false, true}) {
    TempFolder folder;
    RunSetup setup;
    setup.snapshot_every = 1, setup.skip_when_busy = skips;
    CHECK(World(setup, folder.path()).run().params == expected.params);
    CHECK(list_snapshots(folder.path()).front().iteration == 60);  // the last is never left out
  }
}

TEST_CASE("snapshots to keep for good are not pruned") {
  const Scheduler scheduler(4);
  TempFolder folder;
  RunSetup setup;
  setup.snapshot_every = 5, setup.keep_every = 20;
  World(setup, folder.path()).run();
  std::vector<std::uint64_t> kept;
  for (auto& info : list_snapshots(folder.path())) kept.push_back(info.iteration);
  CHECK(kept == std::vector<std::uint64_t>{60, 55, 50, 40, 20});
}

TEST_CASE("a snapshot that cannot be written ends the run where that is asked for") {
  const Scheduler scheduler(4);
  TempFolder folder;
  RunSetup setup;
  setup.stop_on_error = true;
  World world(setup, folder.write("blocked", "a file where a folder is wanted") / "snapshots");
  check_failure(failure_of([&] { world.run(); }), Exit::snapshot, "no snapshot of iteration 10: ");
}

TEST_CASE("with a step of 20 ms and data that takes less, compute waits for data less than 1 % of the time") {
  const Scheduler scheduler(4);
  RunSetup setup;
  setup.last = 150;
  World world(setup);
  world.learner.on_train = [](const Ticket&) { std::this_thread::sleep_for(std::chrono::milliseconds(20)); };
  world.sampler.before_sample = [](std::uint64_t) { std::this_thread::sleep_for(std::chrono::microseconds(200)); };
  const Outcome outcome = world.run();
  MESSAGE("data_wait " << outcome.result.wait_s / outcome.result.wall_s);
  CHECK(outcome.result.wait_s / outcome.result.wall_s < 0.01);
}

TEST_CASE("a full disk at a snapshot: training goes on") {
  const Scheduler scheduler(4);
  TempFolder folder;
  const auto file = folder.write("blocked", "a file where a folder is wanted");
  World world(RunSetup{}, file / "snapshots");
  CHECK(world.run().params == World(RunSetup{}).run().params);
}
