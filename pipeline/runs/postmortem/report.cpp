#include "pipeline/runs/postmortem/report.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "pipeline/base/telemetry/format.h"
#include "pipeline/base/telemetry/json_text.h"
#include "pipeline/base/telemetry/secrets_in_json.h"
#include "pipeline/runs/postmortem/diagnosis.h"
#include "sampling/core/text.h"

namespace flowtrain {

namespace {

using Json = nlohmann::ordered_json;
using Rows = std::vector<std::vector<std::string>>;

const char* to_text(FlightLog::State state) {
  switch (state) {
    case FlightLog::State::running: return "running";
    case FlightLog::State::stopped: return "not running";
    case FlightLog::State::ended: return "ended";
    case FlightLog::State::failed: return "failed";
    case FlightLog::State::gone: return "gone";
    case FlightLog::State::unknown: return "unknown";
  }
  return "";
}

std::string span_text(double span_s) { return printed("%.3f s", span_s); }

// Returns a table whose columns are as wide as their widest cell; nothing if there is only a heading.
std::string table(const Rows& rows) {
  if (rows.size() == 1) return {};
  std::vector<std::size_t> widths(rows.front().size(), 0);
  for (auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  std::string text;
  for (auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i)
      text += i + 1 < row.size() ? row[i] + std::string(widths[i] - row[i].size() + 2, ' ') : row[i];
    text += '\n';
  }
  return text;
}

FlightTime newest(const std::vector<FlightLog>& logs) {
  return std::ranges::max_element(logs, {}, &FlightLog::last)->last;
}

std::string ranks_table(const std::vector<FlightLog>& logs) {
  Rows rows{{"rank", "host", "process", "state", "last sign", "iteration", "last collective"}};
  for (auto& log : logs) {
    std::string collective = "-";
    if (const auto last = last_collective(log))
      collective =
          concat(last->inside ? "in " : "after ", last->entry.number, ", ", last->entry.place, ", ",
                 span_text(seconds_between(last->inside ? last->entry.begin : last->entry.end, end_of_record(log))));
    rows.push_back({std::to_string(log.rank), log.host, std::to_string(log.process), to_text(log.state),
                    printed("%.1f s ago", std::max(seconds_between(log.last, newest(logs)), 0.0)),
                    std::to_string(last_iteration(log)), collective});
  }
  return table(rows);
}

std::string threads_table(const std::vector<FlightLog>& logs) {
  Rows rows{{"rank", "thread", "id", "for", "in"}};
  for (auto& log : logs)
    for (auto& thread : log.threads)
      if (const auto position = position_of(thread, end_of_record(log)))
        rows.push_back({std::to_string(log.rank), thread.name, std::to_string(thread.id), span_text(position->for_s),
                        position->text});
  return table(rows);
}

std::string queues_table(const std::vector<FlightLog>& logs) {
  Rows rows{{"rank", "queue", "fill"}};
  for (auto& log : logs)
    for (auto& queue : log.queues)
      rows.push_back({std::to_string(log.rank), queue.name, concat(queue.fill, " of ", queue.capacity)});
  return table(rows);
}

// Returns the table of threads; threads of one name share a row.
std::string places_table(const std::vector<FlightLog>& logs, double seconds_s) {
  struct Sum {
    std::uint64_t times = 0;
    double total_s = 0, longest_s = 0, ended_s = 0;
  };
  const FlightTime end = newest(logs);
  Rows rows{{"rank", "thread", "place", "times", "in all", "longest", "the last one ended"}};
  for (auto& log : logs) {
    std::map<std::pair<std::string, std::string>, Sum> sums;
    for (auto& thread : log.threads)
      for (auto& entry : thread.past) {
        const double ago_s = seconds_between(entry.end, end), took_s = seconds_between(entry.begin, entry.end);
        if (ago_s > seconds_s) continue;
        auto& sum = sums[{thread.name, entry.place}];
        sum.ended_s = sum.times++ == 0 ? ago_s : std::min(sum.ended_s, ago_s);
        sum.total_s += took_s;
        sum.longest_s = std::max(sum.longest_s, took_s);
      }
    for (auto& [where, sum] : sums)
      rows.push_back({std::to_string(log.rank), where.first, where.second, std::to_string(sum.times),
                      span_text(sum.total_s), span_text(sum.longest_s), printed("%.3f s ago", sum.ended_s)});
  }
  return table(rows);
}

Json json_of(const FlightEntry& entry, FlightTime end) {
  Json json{{"place", entry.place}, {"depth", entry.depth}, {"began_s", -seconds_between(entry.begin, end)}};
  if (entry.end != 0) json["took_s"] = seconds_between(entry.begin, entry.end);
  if (entry.iteration > 0) json["iteration"] = entry.iteration;
  if (entry.kind == flight::Kind::collective) json["collective"] = entry.number;
  return json;
}

Json json_of(const FlightThread& thread, FlightTime until, FlightTime end, double seconds_s) {
  Json json{{"name", thread.name}, {"id", thread.id}, {"in", Json::array()}, {"past", Json::array()}};
  for (auto& entry : thread.open) json["in"].push_back(json_of(entry, end));
  if (const auto position = position_of(thread, until)) json["for_s"] = position->for_s;
  if (thread.sample) json["sample"] = {{"id", thread.sample->id}, {"name", thread.sample->name}};
  for (auto& entry : thread.past)
    if (seconds_between(entry.end, end) <= seconds_s) json["past"].push_back(json_of(entry, end));
  return json;
}

Json json_of(const FlightLog& log, FlightTime end, double seconds_s) {
  const auto position = position_of(log);
  Json json{{"rank", log.rank},
            {"host", log.host},
            {"process", log.process},
            {"state", to_text(log.state)},
            {"last_s", -seconds_between(log.last, end)},
            {"iteration", last_iteration(log)},
            {"in", position.text},
            {"for_s", position.for_s}};
  if (!log.message.empty()) json["message"] = log.message;
  if (const auto last = last_collective(log))
    json["collective"] = {{"number", last->entry.number},
                          {"what", last->entry.place},
                          {"iteration", last->entry.iteration},
                          {"inside", last->inside}};
  json["queues"] = Json::array();
  for (auto& queue : log.queues)
    json["queues"].push_back({{"name", queue.name}, {"fill", queue.fill}, {"capacity", queue.capacity}});
  json["threads_without_place"] = log.threads_without_place;
  json["threads"] = Json::array();
  for (auto& thread : log.threads) json["threads"].push_back(json_of(thread, end_of_record(log), end, seconds_s));
  return json;
}

}  // namespace

std::string postmortem_text(const std::vector<FlightLog>& logs, double seconds_s) {
  std::string text = diagnose(logs).sentence + "\n\n" + ranks_table(logs);
  const auto ended = [](const FlightLog& log) { return log.state == FlightLog::State::ended; };
  if (std::ranges::all_of(logs, ended)) return without_secrets(text);  // the rest helps to find a failure
  for (const auto& part : {threads_table(logs), queues_table(logs), places_table(logs, seconds_s)})
    if (!part.empty()) text += "\n" + part;
  for (auto& log : logs)
    if (log.threads_without_place > 0)
      text += concat("\nrank ", log.rank, ": ", log.threads_without_place, " threads had no room in the record\n");
  return without_secrets(text);
}

std::string postmortem_json(const std::vector<FlightLog>& logs, double seconds_s) {
  const Diagnosis found = diagnose(logs);
  Json json{
      {"sentence", found.sentence}, {"rank", nullptr}, {"in", found.position.text}, {"for_s", found.position.for_s}};
  if (found.rank) json["rank"] = *found.rank;
  json["ranks"] = Json::array();
  for (auto& log : logs) json["ranks"].push_back(json_of(log, newest(logs), seconds_s));
  mask_secrets(json);
  return json_text(json, 2) + "\n";
}

}  // namespace flowtrain
