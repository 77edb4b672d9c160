#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "pipeline/base/config/run_folder.h"
#include "pipeline/base/telemetry/json_text.h"
#include "pipeline/runs/report_page/page_files.h"
#include "pipeline/runs/report_page/report_page.h"
#include "pipeline/runs/run_reader/stored_config.h"
#include "sampling/core/secrets.h"
#include "sampling/core/text.h"
#include "sampling/core/utf8.h"

namespace flowtrain {

namespace {

using nlohmann::ordered_json;

// Makes JSON safe within a <script>: it cannot end the element, begin a comment or break a line (U+2028).
std::string in_script(std::string_view json) {
  std::string text;
  text.reserve(json.size());
  for (std::size_t i = 0; i < json.size(); ++i) {
    const auto rest = json.substr(i);
    if (json[i] == '<') {
      text += "\\u003c";
    } else if (rest.starts_with("\u2028") || rest.starts_with("\u2029")) {
      text += rest.starts_with("\u2028") ? "\\u2028" : "\\u2029";
      i += 2;
    } else {
      text += json[i];
    }
  }
  return text;
}

std::string in_html(std::string_view plain) {
  std::string text;
  for (const char c : plain) {
    if (c == '<')
      text += "&lt;";
    else if (c == '&')
      text += "&amp;";
    else
      text += c;
  }
  return text;
}

std::string title_of(const std::vector<ReportedRun>& runs) {
  return in_html(as_utf8(join(runs, ", ", [](auto& run) { return run_name(run.folder); })));
}

}  // namespace

std::string report_data(const std::vector<ReportedRun>& runs, const ReportOptions& options) {
  std::string data = "{\"runs\":[";
  for (auto& run : runs) data += (&run == &runs.front() ? "" : ",") + run_data(run, options);
  data += "],\"differences\":";
  std::vector<std::optional<Document>> documents;
  if (runs.size() > 1)
    for (auto& run : runs) documents.push_back(stored_document(run.folder));
  ordered_json differences = ordered_json::array();
  for (auto& [key, values] : differing_keys(documents)) {
    ordered_json texts = ordered_json::array();
    for (auto& value : values) texts.push_back(value ? ordered_json(shown_value(key, *value)) : ordered_json());
    differences.push_back({{"key", key}, {"values", std::move(texts)}});
  }
  return data + json_text(differences) + "}";
}

std::string render_report(const std::vector<ReportedRun>& runs, const ReportOptions& options) {
  const auto title = title_of(runs);
  // A browser paints the text before the scripts first.
  return concat(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<link rel=\"icon\" "
      "href=\"data:,\">\n<title>",
      title, " – flowtrain</title>\n<style>\n", page_files::style,
      "</style>\n</head>\n<body>\n<header id=\"head\"><h1>", title,
      "</h1></header>\n<div id=\"tools\"></div>\n<main id=\"main\"></main>\n"
      "<div id=\"said\" class=\"unseen\" role=\"status\"></div>\n"
      "<noscript><p>This page draws its charts with JavaScript, which is switched off.</p></noscript>\n"
      "<script type=\"application/json\" id=\"data\">",
      in_script(report_data(runs, options)), "</script>\n<script>\n", page_files::plotter, "\n</script>\n<script>\n",
      page_files::script, "</script>\n</body>\n</html>\n");
}

}  // namespace flowtrain
