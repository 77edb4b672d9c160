#include "pipeline/runs/report_page/report_branch.h"

#include <doctest/doctest.h>

#include "stages/system/named_thread.h"
#include "tests/pipeline/runs/report_page/run_files.h"
#include "tests/support/read_text.h"

namespace flowtrain::report_branch_test {

using namespace flowtrain::testing;

TEST_CASE("report branch: the last page says how the run ended; nothing else is left") {
  TempFolder folder;
  write_run(folder, "run");
  const auto page = folder.path() / "run" / "report.html";
  const int threads = named_threads;
  { ReportBranch branch(folder.path() / "run"); }
  CHECK(data_of(read_text(page))["runs"][0]["status"]["state"] == "done");
  {
    ReportBranch branch(folder.path() / "run");
    branch.failed("the disk is <full>");
  }
  const auto status = data_of(read_text(page))["runs"][0]["status"];
  CHECK(status["state"] == "failed");
  CHECK(status["why"] == "the disk is <full>");
  CHECK(named_threads == threads);
  std::size_t files = 0;
  for (auto& each : std::filesystem::directory_iterator(folder.path() / "run"))
    files += each.path().filename().string().find("report.html") != std::string::npos ? 1 : 0;
  CHECK(files == 1);
}

TEST_CASE("report branch: a page that cannot be written does not end the run") {
  TempFolder folder;
  write_run(folder, "run");
  folder.write("run/report.html/in the way", "");
  CHECK_NOTHROW(ReportBranch(folder.path() / "run"));
  CHECK(std::filesystem::is_directory(folder.path() / "run" / "report.html"));
}

}  // namespace flowtrain::report_branch_test
