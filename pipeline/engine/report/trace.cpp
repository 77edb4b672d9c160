#include "pipeline/engine/report/trace.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>
#include <vector>

#include "pipeline/base/telemetry/json_text.h"

namespace flowtrain {

namespace {

using nlohmann::json;
using TraceEvent = Profile::Event;

constexpr int host = 1, device = 2;  // numbers of the trace's processes: readers take 0 for the idle one

int process_of(const TraceEvent& event) { return event.on_device ? device : host; }

int thread_of(const TraceEvent& event) { return event.on_device ? event.thread + 1 : event.thread; }

// Returns microseconds, in steps of nanoseconds.
double trace_time(std::int64_t ns) { return static_cast<double>(ns) / 1e3; }

/// Slices that follow one another.
using Chain = std::vector<const TraceEvent*>;

/// The chains of a batch: those of each of its chunks, and of the whole.
struct BatchChains {
  std::map<int, Chain> chunks;
  Chain whole;
};

// Returns chains of `events`, which are in the order of time. Slices of a chunk lead to the batch's next one.
std::vector<Chain> chains_of(const std::vector<TraceEvent>& events) {
  std::map<std::pair<std::string, std::uint64_t>, BatchChains> batches;
  for (auto& event : events) {
    if (!event.batch.line) continue;
    BatchChains& batch = batches[{event.batch.line, event.batch.number}];
    (event.batch.chunk == BatchPlace::whole ? batch.whole : batch.chunks[event.batch.chunk]).push_back(&event);
  }
  std::vector<Chain> chains;
  for (auto& [place, batch] : batches) {
    for (auto& [number, chain] : batch.chunks) {
      const std::int64_t last_ns = chain.back()->begin_ns;
      const auto next = std::ranges::find_if(batch.whole, [&](auto* each) { return each->begin_ns >= last_ns; });
      if (next != batch.whole.end()) chain.push_back(*next);
      chains.push_back(std::move(chain));
    }
    chains.push_back(std::move(batch.whole));
  }
  std::erase_if(chains, [](auto& chain) { return chain.size() < 2; });
  return chains;
}

json slice_of(const TraceEvent& event) {
  json arguments = json::object();
  if (event.iteration > 0) arguments["iteration"] = event.iteration;
  if (event.batch.line) arguments["batch"] = event.batch.number + 1;
  if (event.batch.chunk != BatchPlace::whole) arguments["chunk"] = event.batch.chunk + 1;
  if (!event.layer.empty()) arguments["layer"] = event.layer;
  return {{"name", event.name},
          {"cat", event.category},
          {"ph", "X"},
          {"pid", process_of(event)},
          {"tid", thread_of(event)},
          {"ts", trace_time(event.begin_ns)},
          {"dur", trace_time(event.duration_ns)},
          {"args", arguments}};
}

/// A flow at a slice: it begins there, goes on, or ends ("s", "t", "f").
struct Passing {
  std::size_t id;
  const char* phase;
};

// Returns a flow for each chain, by the slices that it passes.
std::map<const TraceEvent*, std::vector<Passing>> flows_through(const std::vector<Chain>& chains) {
  std::map<const TraceEvent*, std::vector<Passing>> flows;
  std::size_t id = 0;
  for (auto& chain : chains) {
    ++id;
    for (auto* event : chain)
      flows[event].push_back({id, event == chain.front() ? "s" : event == chain.back() ? "f" : "t"});
  }
  return flows;
}

// The flow is at the slice's beginning, before any slice within it has begun.
json flow_of(const TraceEvent& event, const Passing& passing) {
  json flow{{"name", "batch"},
            {"cat", "batch"},
            {"ph", passing.phase},
            {"id", passing.id},
            {"pid", process_of(event)},
            {"tid", thread_of(event)},
            {"ts", trace_time(event.begin_ns)}};
  if (*passing.phase == 'f') flow["bp"] = "e";  // binds to the slice around it and not to the next one
  return flow;
}

json counter_of(const Profile::Count& count) {
  return {{"name", count.name},
          {"ph", "C"},
          {"pid", host},
          {"ts", trace_time(count.at_ns)},
          {"args", {{"fill", count.fill}}}};
}

json name_of(const char* what, int process, int thread, const std::string& name) {
  return {{"name", what}, {"ph", "M"}, {"pid", process}, {"tid", thread}, {"args", {{"name", name}}}};
}

/// Lines of the file by time; equal times keep the order in which they were added.
class Timeline {
 public:
  void add(std::int64_t at_ns, const json& event) { lines_.emplace_back(at_ns, json_text(event)); }
  std::string text() {
    std::ranges::stable_sort(lines_, {}, &std::pair<std::int64_t, std::string>::first);
    std::string text = "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [";
    const char* separator = "\n";
    for (auto& [at_ns, line] : lines_) {
      text += separator + line;
      separator = ",\n";
    }
    return text + "\n]}\n";
  }

 private:
  std::vector<std::pair<std::int64_t, std::string>> lines_;
};

void add_names(const Profile& profile, Timeline& timeline) {
  timeline.add(0, name_of("process_name", host, 0, "flowtrain"));
  for (auto& [thread, name] : profile.threads()) timeline.add(0, name_of("thread_name", host, thread, name));
  const auto streams = profile.streams();
  if (!streams.empty()) timeline.add(0, name_of("process_name", device, 0, profile.device()));
  for (std::size_t i = 0; i < streams.size(); ++i)
    timeline.add(0, name_of("thread_name", device, static_cast<int>(i + 1), streams[i]));
}

}  // namespace

std::string trace_json(const Profile& profile) {
  std::vector<TraceEvent> events = profile.events();
  // Outer slices come before inner ones.
  std::ranges::stable_sort(events, {}, [](auto& event) { return std::tuple(event.begin_ns, -event.duration_ns); });
  Timeline timeline;
  add_names(profile, timeline);
  const auto flows = flows_through(chains_of(events));
  for (auto& event : events) {
    timeline.add(event.begin_ns, slice_of(event));
    if (const auto found = flows.find(&event); found != flows.end())
      for (auto& passing : found->second) timeline.add(event.begin_ns, flow_of(event, passing));
  }
  for (auto& count : profile.counts()) timeline.add(count.at_ns, counter_of(count));
  return timeline.text();
}

}  // namespace flowtrain
