// flowtrain serve FOLDER

#include <cstdio>
#include <stop_token>

#include "pipeline/base/telemetry/interrupt.h"
#include "pipeline/commands/flags.h"
#include "pipeline/runs/serve/server.h"

namespace flowtrain::commands {

int serve(const Arguments& arguments, Interrupt& interrupt) {
  CLI::App app(
      "Shows runs in a browser: a list of those under FOLDER, and a page for each that is kept up to date while it "
      "trains. Only programs of this machine reach it unless --host says otherwise; then a visitor needs the token of "
      "the address that is printed. Ctrl-C ends it.",
      "flowtrain serve");
  serve::ServerOptions options;
  add_path(app, "FOLDER", options.folder, "folder of runs, e.g. runs, or that of one run")->required();
  app.add_option("--host", options.host, "address to listen at; 0.0.0.0: all of this machine's")->capture_default_str();
  app.add_option("--port", options.port, "port to listen at; 0: any free one")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  app.add_option("--token", options.token,
                 "what visitors need; by default a random one, on this machine none. Others see a command's arguments "
                 "in the list of processes, but not its environment")
      ->envname("FLOWTRAIN_SERVE_TOKEN");
  if (!parse(app, arguments)) return 0;
  serve::Server server(options);
  std::printf("%s\n", server.url().c_str());
  std::fflush(stdout);
  interrupt.defer();  // open connections are closed
  const std::stop_callback stop(interrupt.token(), [&] { server.stop(); });
  server.run();
  return interrupt.requested() ? Interrupt::exit_code(*interrupt.requested()) : 0;
}

}  // namespace flowtrain::commands
