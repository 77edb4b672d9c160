#pragma once
// A strict reader of Chrome's trace format, as --profile writes it.

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace flowtrain::testing {

/// A slice of a thread, or of a device's stream.
struct TraceSlice {
  std::string name, category, thread;  ///< `thread`: its name
  int process = 0;
  std::int64_t begin_ns = 0, end_ns = 0;
  nlohmann::json arguments;
};

/// The content of a trace. `faults` lists its faults.
struct TraceContent {
  std::vector<std::string> faults;
  std::vector<TraceSlice> slices;
  std::vector<std::vector<TraceSlice>> flows;           ///< the slices that each of them passes
  std::map<std::string, std::vector<double>> counters;  ///< by names: their values
};

/// Reads a trace. Events are in the order of time, slices of a thread nest, threads have names, each flow begins once,
/// ends once, and passes slices in the order of time, counters are numbers.
class TraceReader {
 public:
  explicit TraceReader(const nlohmann::json& trace) {
    for (auto& event : trace.at("traceEvents")) try {
        read(event);
      } catch (const nlohmann::json::exception& error) {
        wrong(error.what(), event);
      }
    for (auto& [id, flow] : flows_) {
      if (!flow.over) content_.faults.push_back("a flow without an end: " + id);
      content_.flows.push_back(std::move(flow.slices));
    }
  }
  const TraceContent& content() const { return content_; }

 private:
  using Thread = std::pair<int, std::int64_t>;
  struct Flow {
    std::vector<TraceSlice> slices;
    bool over = false;
  };

  void wrong(const std::string& what, const nlohmann::json& event) {
    content_.faults.push_back(what + ": " + event.dump());
  }
  static std::int64_t ns_of(const nlohmann::json& micro) { return std::llround(micro.get<double>() * 1e3); }

  void read(const nlohmann::json& event) {
    const std::string phase = event.at("ph");
    if (event.at("name").get<std::string>().empty()) wrong("no name", event);
    if (phase == "M") return read_name(event);
    const std::int64_t now_ns = ns_of(event.at("ts"));
    if (now_ns < now_ns_) wrong("out of order", event);
    now_ns_ = now_ns;
    if (phase == "C") return read_counter(event);
    const Thread thread{event.at("pid"), event.at("tid")};
    auto& open = open_[thread];
    // One that ends where the next one begins does not hold it; a flow may pass one that takes no time.
    const auto is_over = [&](const TraceSlice& slice) {
      return slice.end_ns <= now_ns && (slice.begin_ns < now_ns || phase == "X");
    };
    while (!open.empty() && is_over(open.back())) open.pop_back();
    if (phase == "X") return read_slice(event, thread);
    if (phase == "s" || phase == "t" || phase == "f") return read_flow(event, phase, open);
    wrong("an unknown kind", event);
  }

  void read_name(const nlohmann::json& event) {
    const std::string what = event.at("name"), name = event.at("args").at("name");
    if (name.empty()) wrong("an empty name", event);
    if (what == "thread_name" && !threads_.insert({{event.at("pid"), event.at("tid")}, name}).second)
      wrong("a second name", event);
  }

  void read_counter(const nlohmann::json& event) {
    if (event.at("args").empty()) wrong("no value", event);
    for (auto& value : event.at("args")) {
      if (!value.is_number() || value.get<double>() < 0) wrong("no count", event);
      content_.counters[event.at("name")].push_back(value);
    }
  }

  void read_slice(const nlohmann::json& event, const Thread& thread) {
    const std::int64_t begin_ns = now_ns_, end_ns = begin_ns + ns_of(event.at("dur"));
    if (end_ns < begin_ns) wrong("a negative duration", event);
    auto& open = open_[thread];
    if (!open.empty() && open.back().end_ns < end_ns) wrong("crosses the slice around it", event);
    if (!threads_.contains(thread)) wrong("a thread without a name", event);
    open.push_back(
        {event.at("name"), event.at("cat"), threads_[thread], thread.first, begin_ns, end_ns, event.at("args")});
    content_.slices.push_back(open.back());
  }

  void read_flow(const nlohmann::json& event, const std::string& phase, const std::vector<TraceSlice>& open) {
    if (open.empty() || open.back().end_ns < now_ns_) return wrong("a flow outside of slices", event);
    const std::string id = event.at("cat").get<std::string>() + " " + event.at("id").dump();
    const bool begins = phase == "s";
    if (begins == flows_.contains(id)) return wrong(begins ? "begins again" : "has not begun", event);
    Flow& flow = flows_[id];
    if (flow.over) wrong("goes on after its end", event);
    if (phase == "f" && event.at("bp") != "e") wrong("ends at the next slice", event);
    flow.over = phase == "f";
    flow.slices.push_back(open.back());
  }

  TraceContent content_;
  std::map<Thread, std::string> threads_;
  std::map<Thread, std::vector<TraceSlice>> open_;  // slices that the present moment is in
  std::map<std::string, Flow> flows_;
  std::int64_t now_ns_ = 0;
};

}  // namespace flowtrain::testing
