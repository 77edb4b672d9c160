// flowtrain report RUN [RUN…]

#include <cstdio>
#include <filesystem>
#include <vector>

#include "pipeline/base/config/run_folder.h"
#include "pipeline/base/snapshot/atomic_folder.h"
#include "pipeline/commands/flags.h"
#include "pipeline/runs/report_page/report_page.h"

namespace flowtrain::commands {

int report(const Arguments& arguments, Interrupt&) {
  CLI::App app(
      "Writes an HTML page about a run: charts, pictures, its graph, and how to repeat it. For several runs, the page\n"
      "draws their curves in the same charts and lists the keys in which they differ.",
      "flowtrain report");
  std::vector<std::string> folders;
  std::filesystem::path out;
  app.add_option("RUN", folders, "folders of runs, e.g. runs/quickstart")->required();
  add_path(app, "--out", out, "write this file; default RUN/report.html, for several runs ./report.html");
  if (!parse(app, arguments)) return 0;
  std::vector<ReportedRun> runs;
  for (auto& folder : folders) {
    runs.push_back({expand_home(folder)});
    require_run(runs.back().folder);
  }
  if (out.empty()) out = runs.size() == 1 ? runs[0].folder / "report.html" : "report.html";
  write_file_atomically(out, render_report(runs, {.page_folder = out.parent_path()}));
  std::printf("%s\n", out.c_str());
  return 0;
}

}  // namespace flowtrain::commands
