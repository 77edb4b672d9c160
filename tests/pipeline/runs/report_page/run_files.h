#pragma once
// The folder of a run that has something of everything a page shows, and what is on a page.

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "tests/support/temp_folder.h"

namespace flowtrain::testing {

using nlohmann::ordered_json;

/// The smallest PNG header: 3 × 2 pixels. A page reads no more of a picture.
inline std::string png_header() { return std::string("\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\3\0\0\0\2\x08\2\0\0\0", 29); }

/// Writes a finished run; `name` goes into every place where a file may have a name of its own.
inline void write_run(const TempFolder& folder, const std::string& run, const std::string& name = "cat",
                      const std::string& lr = "0.05") {
  const auto file = [&](const char* path) { return run + "/" + path; };
  const auto json = [](const ordered_json& value) { return value.dump() + "\n"; };
  folder.write(file("config.toml"), "name = \"tiny\"  # default\n\n[optim]\nlr = " + lr +
                                        "  # a.toml:3:1\n\n[val]\nmetrics = [\"accuracy\"]  # default\n");
  std::string lines;
  for (int i = 1; i <= 10; ++i)
    lines += json({{"kind", "train"},
                   {"iter", 10 * i},
                   {"epoch", 1 + i / 6},
                   {"loss", 1.0 / i},
                   {"lr", 0.05},
                   {"samples_per_s", 100.5},
                   {"data_wait", 0.01},
                   {"elapsed_s", 0.5 * i},
                   {"samples", 80 * i},
                   {"net." + name, i}});
  for (int i = 1; i <= 2; ++i)
    lines += json({{"kind", "val"}, {"iter", 50 * i}, {"loss", 0.5}, {"accuracy", 0.4 * i}, {"accuracy." + name, 0.1}});
  lines += json({{"kind", "snapshot"}, {"iter", 100}, {"path", "snapshots/" + name}});
  lines +=
      json({{"kind", "verdict"}, {"iter", 100}, {"text", "verdict " + name}, {"limit", name}, {"limit_share", 0.7}});
  lines += json({{"kind", "end"}, {"iter", 100}, {"params_xxh64", "0123456789abcdef"}});
  folder.write(file("metrics.jsonl"), lines);
  folder.write(file("result.json"), json({{"iteration", 100},
                                          {"seconds", 5.5},
                                          {"ended", "done"},
                                          {"best", {{"metric", "accuracy"}, {"value", 0.8}, {"iteration", 100}}}}));
  folder.write(file("env.json"), json({{"command", {"flowtrain", name}}, {"cpu", name}}));
  folder.write(file("graph.json"), json({{"iterations_per_epoch", 50},
                                         {"last_iteration", 100},
                                         {"metrics", {{"loss", "min"}, {"accuracy", "max"}, {"distance", "min"}}},
                                         {"best", {{"best", {{"metric", "accuracy"}, {"mode", "max"}}}}},
                                         {"nodes", {{{"name", name}, {"label", name + "\nx"}, {"thread", true}}}},
                                         {"edges", ordered_json::array()}}));
  std::string quoted;
  for (const char c : name) quoted.append(c == '"' ? 2 : 1, c);
  folder.write(file("confusion.csv"), "label,\"" + quoted + "\",dog\n\"" + quoted + "\",5,1\ndog,0,7\n");
  folder.write(file("bad_samples.jsonl"), json({{"iter", 3}, {"id", 4}, {"name", name}, {"reason", name}}));
  folder.write(file("train.log"), "2026-01-01 00:00:00.000 info    begin\n2026-01-01 00:00:01.000 warning " + name +
                                      "\n2026-01-01 00:00:02.000 warning " + name + "\n");
  folder.write(file("pictures/iter-00000100/00.png"), png_header());
  const ordered_json sample{{"file", "00.png"}, {"id", 7}, {"label", name}, {"prediction", "dog"}, {"loss", 2.5}};
  folder.write(file("pictures/iter-00000100/pictures.json"),
               json({{"iter", 100}, {"kind", "classify"}, {"samples", {sample}}, {"worst", {sample}}}));
}

inline std::size_t occurrences(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

/// What stands between `begin` and the next `end`.
inline std::string between(const std::string& text, const std::string& begin, const std::string& end) {
  const auto from = text.find(begin);
  if (from == text.npos) return {};
  const auto start = from + begin.size();
  return text.substr(start, text.find(end, start) - start);
}

/// The data of a page, as its script reads them.
inline ordered_json data_of(const std::string& page) {
  return ordered_json::parse(between(page, "<script type=\"application/json\" id=\"data\">", "</script>"));
}

}  // namespace flowtrain::testing
