#include "pipeline/runs/serve/live_page.h"

#include <sys/stat.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "pipeline/base/telemetry/format.h"
#include "pipeline/base/telemetry/json_text.h"
#include "pipeline/runs/report_page/report_page.h"
#include "pipeline/runs/run_reader/run_summary.h"
#include "sampling/core/parse.h"
#include "sampling/core/text.h"

namespace flowtrain::serve {
namespace {

using nlohmann::ordered_json;

std::vector<ReportedRun> reported(const std::vector<FoundRun>& runs) {
  std::vector<ReportedRun> all;
  all.reserve(runs.size());
  for (auto& run : runs) all.push_back({run.folder});
  return all;
}

// Returns the options. Pictures are links, so that data that is fetched repeatedly stays small. Links of a run's page
// are relative to the run's folder, those of several runs to the folder of all runs.
ReportOptions options_for(const std::vector<FoundRun>& runs) {
  ReportOptions options{.page_folder = runs.front().folder, .picture_bytes = 0};
  const auto& name = runs.front().name;
  if (runs.size() > 1)
    for (auto parts = 1 + std::ranges::count(name, '/'); parts > 0; --parts)
      options.page_folder = options.page_folder.parent_path();
  return options;
}

void replace_all(std::string& text, std::string_view old, std::string_view by) {
  for (auto at = text.find(old); at != text.npos; at = text.find(old, at + by.size())) text.replace(at, old.size(), by);
}

std::string file_state(const std::filesystem::path& file) {
  struct stat state {};
  if (::stat(file.c_str(), &state) != 0) return "-";
  return concat(state.st_ino, ".", state.st_size, ".", state.st_mtim.tv_sec, ".", state.st_mtim.tv_nsec);
}

}  // namespace

std::string text_of(const ReadMark& mark) { return concat(mark.offset, "-", mark.before_hash); }

ReadMark mark_of(std::string_view text) {
  const auto hyphen = std::min(text.find('-'), text.size());
  const auto offset = parse_number<std::uint64_t>(text.substr(0, hyphen));
  const auto hash = parse_number<std::uint64_t>(text.substr(std::min(hyphen + 1, text.size())));
  return offset && hash ? ReadMark{*offset, *hash} : ReadMark{};
}

std::string live_page(const std::vector<FoundRun>& runs, const std::string& nonce) {
  // The mark is taken before the data is read. The page leaves out lines that are in both.
  const auto mark = mark_at_end(runs.front().folder / "metrics.jsonl");
  auto page = render_report(reported(runs), options_for(runs));
  replace_all(page, "<script>", "<script nonce=\"" + nonce + "\">");  // JSON in the page writes "<" in another form
  ordered_json names = ordered_json::array();
  for (auto& run : runs) names.push_back(run.name);
  auto about = json_text(ordered_json{{"runs", names}, {"mark", text_of(mark)}});
  replace_all(about, "<", "\\u003c");
  const std::string_view end = "</body>";
  page.insert(page.rfind(end), concat("<script type=\"application/json\" id=\"live\">", about,
                                      "</script>\n<script src=\"/live.js\"></script>\n"));
  const std::string_view head_end = "</head>";
  page.insert(page.find(head_end), "<link rel=\"stylesheet\" href=\"/live.css\">\n");
  return page;
}

std::string live_data(const std::vector<FoundRun>& runs) { return report_data(reported(runs), options_for(runs)); }

std::string data_tag(const std::vector<FoundRun>& runs) {
  constexpr std::array files{"metrics.jsonl", "config.toml",   "env.json", "result.json",       "graph.json",
                             "train.log",     "confusion.csv", "pictures", "bad_samples.jsonl", "snapshots"};
  std::string state;
  for (auto& run : runs) {
    state += concat(run.name, "\n", seems_running(run.folder), "\n");
    for (const char* file : files) state += file_state(run.folder / file) + "\n";
  }
  return printed("\"%016llx\"", static_cast<unsigned long long>(XXH64(state.data(), state.size(), 0)));
}

}  // namespace flowtrain::serve
