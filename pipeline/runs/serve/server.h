#pragma once
// The HTTP server of `flowtrain serve`, which shows pages and files of runs.

#include <filesystem>
#include <memory>
#include <string>

#include "pipeline/base/http/connection_limits.h"

namespace flowtrain::serve {

struct ServerOptions {
  std::filesystem::path folder;    ///< a folder of runs, or the folder of one run
  std::string host = "127.0.0.1";  ///< the address to listen at
  int port = 8700;                 ///< 0 chooses a free one
  std::string
      token;  ///< the token that visitors need; empty: none, or a random one if `host` is not a loopback address
  http::ConnectionLimits limits = {};
};

/// Answers GET and HEAD, reads only below the folder, and writes no files. Wrong requests are answered by a status from
/// 400 to 499, and the connection is closed after each answer.
class Server {
 public:
  /// Begins to listen. Throws UserError: data for a missing folder, usage for an invalid token, or an address in use.
  explicit Server(const ServerOptions& options);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Returns the address for a browser, with the token: "http://127.0.0.1:8700/?token=…".
  std::string url() const;
  int port() const;
  /// Serves until stop(). Call it once.
  void run();
  /// Ends run() soon, from any thread.
  void stop();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace flowtrain::serve
