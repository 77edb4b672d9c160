// flowtrain serve FOLDER

#include <cstdio>
#include <stop_token>

#include "pipeline/base/telemetry/interrupt.h"
#include "pipeline/commands/flags.h"
#include "pipeline/runs/serve/server.h"

namespace flowtrain::commands {

int serve(const Arguments& arguments, Interrupt& interrupt) {
  CLI::App app(
      "Shows the runs under FOLDER in a browser: a list, and a page for each, which is updated while the run trains. "
      "Only programs of this machine can connect, unless --host names another address; visitors then need the token "
      "in the address that is printed. Ctrl-C ends the server.",
      "flowtrain serve");
  serve::ServerOptions options;
  add_path(app, "FOLDER", options.folder, "folder of runs, e.g. runs, or of one run")->required();
  app.add_option("--host", options.host, "listen at this address; 0.0.0.0: all of them")->capture_default_str();
  app.add_option("--port", options.port, "listen at this port; 0 chooses a free one")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  app.add_option("--token", options.token,
                 "require this token of visitors; default: a random one, or none on this machine. Other users can see "
                 "arguments in the list of processes, but not the environment")
      ->envname("FLOWTRAIN_SERVE_TOKEN");
  if (!parse(app, arguments)) return 0;
  serve::Server server(options);
  std::printf("%s\n", server.url().c_str());
  std::fflush(stdout);
  interrupt.defer();  // open connections are closed first
  const std::stop_callback stop(interrupt.token(), [&] { server.stop(); });
  server.run();
  return interrupt.requested() ? Interrupt::exit_code(*interrupt.requested()) : 0;
}

}  // namespace flowtrain::commands
