#pragma once
// Maps paths to the answers of the server.

#include <filesystem>
#include <string>

#include "pipeline/base/http/request_head.h"
#include "pipeline/base/http/response.h"
#include "pipeline/runs/serve/run_list.h"
#include "sampling/core/mutex.h"

namespace flowtrain::serve {

/// | path | answer |
/// |---|---|
/// | `/`, `/list.js`, `/live.js`, `/style.css`, `/live.css` | the list of runs, and parts of pages |
/// | `/runs` | the list as JSON |
/// | `/run/NAME/` | the live page of a run |
/// | `/run/NAME/FILE` | a file of the run's folder (open_served_file) |
/// | `/run/?run=NAME&run=NAME` | the live page of several runs over one another |
/// | `/data?run=NAME…` | what such a page draws |
/// | `/lines?run=NAME&from=MARK` | the lines of metrics.jsonl since X-Mark of an answer before |
/// All other paths are 404.
class Pages {
 public:
  explicit Pages(const std::filesystem::path& folder) : runs_(folder) {}

  /// Answers a request, from any thread. `known_tag` is the value of If-None-Match.
  void answer(const http::Target& target, const std::string& known_tag, http::Response& response);

 private:
  void answer_run(const http::Target& target, http::Response& response);
  void answer_data(const http::Target& target, const std::string& known_tag, http::Response& response);
  void answer_lines(const http::Target& target, http::Response& response);
  std::vector<FoundRun> asked_runs(const http::Target& target);

  RunList runs_;
  Mutex reading_;  // held by the one page at a time that reads whole runs
};

}  // namespace flowtrain::serve
