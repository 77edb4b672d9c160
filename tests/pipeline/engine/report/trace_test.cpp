#include "pipeline/engine/report/trace.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "pipeline/engine/graph/graph.h"
#include "pipeline/engine/graph/loader_forward.h"
#include "tests/support/fakes.h"
#include "tests/support/trace_check.h"

namespace flowtrain::trace_test {

using namespace flowtrain::testing;
using nlohmann::json;

namespace {

/// A copying device with streams, whose clock shows another time than the host's.
class StreamingDevice : public CopyingDevice {
 public:
  std::unique_ptr<StreamPoint> point(DeviceStream stream) override {
    return std::make_unique<Point>(stream == DeviceStream::copies ? reinterpret_cast<std::uintptr_t>(this) : 0);
  }

 private:
  class Point : public StreamPoint {
   public:
    explicit Point(std::uintptr_t stream) : stream_(stream) {}
    double seconds_since(const StreamPoint& earlier) const override {
      return std::chrono::duration<double>(at_ - dynamic_cast<const Point&>(earlier).at_).count();
    }
    std::uintptr_t stream() const override { return stream_; }

   private:
    std::uintptr_t stream_;
    std::chrono::steady_clock::time_point at_ = std::chrono::steady_clock::now() + std::chrono::hours(1);
  };
};

struct TracedLoader {
  TracedLoader(const std::string& name, Device& on, Profile& profile)
      : loader([&] {
          LoaderParts parts{name, dataset, order, sampler, on, Batches(samples, batch, LastBatch::wrap)};
          parts.batch = batch;
          parts.shape.workers = 2;
          parts.shape.readers = 2;
          parts.shape.prefetch = prefetch;
          parts.iterations.last = 40;
          if (name == "train")
            parts.iterations.plan = [](std::uint64_t iteration) { return Plan{.iteration = iteration}; };
          parts.profile = &profile;
          return parts;
        }()) {}

  static constexpr std::uint64_t samples = 500;
  static constexpr std::uint32_t batch = 8, prefetch = 2;
  FakeDataset dataset{samples, 16, /*resident=*/false};
  FakeSampler sampler{16};
  FakeOrder order{samples, 7};
  Loader loader;
};

// 40 iterations, of which the window has 11 to 20; after iteration 12 eight batches are validated.
TraceContent traced_run(Device& device, Device& of_validation) {
  const Scheduler scheduler(4);
  Profile profile(1, 40);
  profile.time_streams(device);
  TracedLoader train("train", device, profile), val("val", of_validation, profile);
  train.loader.start();
  val.loader.start();
  const auto phase = [&](Phase what) {
    const Profile::At at(&profile, what);
    Profile::StreamSpan there(&profile, what);
    there.end();
  };
  for (Ticket ticket; train.loader.next(ticket); train.loader.release(ticket)) {
    profile.begin_batch(train.loader.place(ticket));
    profile.begin_iteration(ticket.iteration);
    for (auto what : {Phase::transfer, Phase::forward, Phase::backward, Phase::optimizer}) phase(what);
    if (ticket.iteration != 12) continue;
    const Profile::At validation(&profile, Phase::validation);
    for (int i = 0; i < 8; ++i) {
      Ticket seen;
      REQUIRE(val.loader.next(seen));
      auto forward = val.loader.forward(seen);
      forward.on_stream.end();
      val.loader.release(seen);
    }
  }
  profile.finish();
  val.loader.stop();
  const TraceReader reader(json::parse(trace_json(profile)));
  for (auto& fault : reader.content().faults) FAIL_CHECK(fault);
  return reader.content();
}

// Of threads their names, of streams "name on stream".
std::vector<std::string> names_of(const std::vector<TraceSlice>& flow) {
  std::vector<std::string> names;
  for (auto& slice : flow)
    names.push_back(slice.category == "stream" ? slice.name + " on " + slice.thread : slice.name);
  return names;
}

// Of those that begin in chunks, and of those that do not.
std::vector<std::vector<std::string>> flows_of(const TraceContent& trace, const std::string& line, int batch,
                                               bool in_chunks) {
  std::vector<std::vector<std::string>> found;
  for (auto& flow : trace.flows) {
    const auto& first = flow.front();
    const bool of_line = std::ranges::any_of(flow, [&](auto& each) { return each.name.starts_with(line + " "); });
    if (of_line && first.arguments.at("batch") == batch && first.arguments.contains("chunk") == in_chunks)
      found.push_back(names_of(flow));
  }
  return found;
}

using Names = std::vector<std::string>;

json events(const std::string& list) { return {{"traceEvents", json::parse("[" + list + "]")}}; }

}  // namespace

TEST_CASE("the slices of a batch are linked, from reading to backward, over threads and streams") {
  StreamingDevice device, of_validation;
  const TraceContent trace = traced_run(device, of_validation);
  for (int iteration = 11; iteration <= 20; ++iteration) {
    CAPTURE(iteration);
    const auto chunks = flows_of(trace, "train", iteration, true), whole = flows_of(trace, "train", iteration, false);
    CHECK(chunks.size() == TracedLoader::batch);  // fewer rows than chunks
    for (auto& chunk : chunks) CHECK(chunk == Names{"train read", "train sample", "train transfer"});
    REQUIRE(whole.size() == 1);
    if (iteration <= 16) continue;  // a batch begins where the slab of one before it is given back: before the window
    CHECK(whole.front() == Names{"train transfer", "train transfer on train copy stream", "transfer",
                                 "transfer on compute stream", "forward", "forward on compute stream", "backward",
                                 "backward on compute stream"});
  }
  const auto validated = flows_of(trace, "val", 8, false);
  REQUIRE(validated.size() == 1);
  CHECK(validated.front() ==
        Names{"val transfer", "val transfer on val copy stream", "val forward", "val forward on compute stream"});
  CHECK(flows_of(trace, "val", 8, true).size() == TracedLoader::batch);
}

TEST_CASE("slices tell iteration and batch, and streams have a process of their own, on the host's clock") {
  StreamingDevice device, of_validation;
  const TraceContent trace = traced_run(device, of_validation);
  std::set<std::string> streams;
  std::map<std::string, int> on_device, on_host;
  for (auto& slice : trace.slices) {
    const bool is_stream = slice.category == "stream";
    if (is_stream) streams.insert(slice.thread);
    CHECK((slice.process == 2) == is_stream);
    ++(is_stream ? on_device : on_host)[slice.name];
    if (slice.name.starts_with("train ")) CHECK(slice.arguments.at("iteration") == slice.arguments.at("batch"));
    if (slice.name.starts_with("val ")) CHECK_FALSE(slice.arguments.contains("iteration"));
    if (slice.name == "optimizer") CHECK_FALSE(slice.arguments.contains("batch"));
  }
  CHECK(streams == std::set<std::string>{"train copy stream", "val copy stream", "compute stream"});
  for (auto name : {"transfer", "forward", "backward", "optimizer"}) CHECK(on_device[name] == 10);
  CHECK(on_device["val forward"] == 8);
  CHECK(on_device["train transfer"] > 0);
  CHECK(on_device["train transfer"] <= on_host["train transfer"]);  // copies are timed from the window on
  // An hour between the clocks is not seen.
  for (auto& slice : trace.slices) CHECK(slice.end_ns < std::int64_t{1800} * 1'000'000'000);
}

TEST_CASE("queues are counted, and never hold more than there is") {
  StreamingDevice device, of_validation;
  const TraceContent trace = traced_run(device, of_validation);
  constexpr double slabs = TracedLoader::prefetch + 2;
  for (const std::string line : {"train ", "val "}) {
    for (auto queue : {"slabs in use", "batches ready", "batches to copy", "chunks to read"}) {
      CAPTURE(queue);
      REQUIRE(trace.counters.contains(line + queue));
      const double most = queue == std::string("chunks to read") ? slabs * TracedLoader::batch : slabs;
      for (auto fill : trace.counters.at(line + queue)) CHECK(fill <= most);
    }
    CHECK(std::ranges::max(trace.counters.at(line + "slabs in use")) > 0);
  }
}

TEST_CASE("a device without streams has none in the trace, and batches go from samplers to compute") {
  const auto device = make_cpu_device();
  const TraceContent trace = traced_run(*device, *device);
  for (auto& slice : trace.slices) CHECK(slice.process == 1);
  CHECK_FALSE(trace.counters.contains("train batches to copy"));
  const auto chunks = flows_of(trace, "train", 20, true), validated = flows_of(trace, "val", 8, true);
  REQUIRE(chunks.size() == TracedLoader::batch);
  CHECK(chunks.front() == Names{"train read", "train sample", "transfer"});
  REQUIRE(validated.size() == TracedLoader::batch);
  CHECK(validated.front() == Names{"val read", "val sample", "val forward"});
}

TEST_CASE("a trace that is not as it should be is refused") {
  const std::string name = R"({"name":"thread_name","ph":"M","pid":1,"tid":1,"args":{"name":"a"}},)";
  const auto slice = [](int begin, int duration) {
    return R"({"name":"x","cat":"c","ph":"X","pid":1,"tid":1,"args":{},"ts":)" + std::to_string(begin) + R"(,"dur":)" +
           std::to_string(duration) + "}";
  };
  const auto flow = [](const std::string& phase, int at) {
    return R"({"name":"b","cat":"b","id":1,"pid":1,"tid":1,"bp":"e","ph":")" + phase + R"(","ts":)" +
           std::to_string(at) + "}";
  };
  const auto is_good = [](const std::string& list) { return TraceReader(events(list)).content().faults.empty(); };
  const std::string outer = slice(0, 10);
  CHECK(is_good(name + outer + "," + slice(2, 3) + "," + slice(5, 5) + "," + slice(10, 1)));
  CHECK(is_good(name + outer + "," + flow("s", 0) + "," + slice(2, 3) + "," + flow("f", 2)));
  CHECK_FALSE(is_good(outer));                                                                        // no name
  CHECK_FALSE(is_good(name + slice(5, 1) + "," + outer));                                             // unsorted
  CHECK_FALSE(is_good(name + outer + "," + slice(5, 9)));                                             // crosses
  CHECK_FALSE(is_good(name + slice(5, -1)));                                                          // negative
  CHECK_FALSE(is_good(name + outer + "," + flow("s", 0)));                                            // no end
  CHECK_FALSE(is_good(name + outer + "," + flow("f", 0)));                                            // no beginning
  CHECK_FALSE(is_good(name + outer + "," + flow("s", 0) + "," + flow("s", 1) + "," + flow("f", 2)));  // twice
  CHECK_FALSE(is_good(name + outer + "," + flow("s", 0) + "," + flow("f", 11)));  // outside of slices
  CHECK_FALSE(is_good(R"({"name":"q","ph":"C","pid":1,"ts":0,"args":{"fill":"3"}})"));
  CHECK_FALSE(is_good(R"({"name":"q","ph":"C","pid":1,"ts":0,"args":{}})"));
  CHECK(is_good(R"({"name":"q","ph":"C","pid":1,"ts":0,"args":{"fill":3}})"));
  CHECK_FALSE(is_good(R"({"name":"q","ph":"B","pid":1,"tid":1,"ts":0})"));
}

}  // namespace flowtrain::trace_test
