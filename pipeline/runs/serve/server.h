#pragma once
// The HTTP server of `flowtrain serve`: pages and files of runs, to be looked at.

#include <filesystem>
#include <memory>
#include <string>

#include "pipeline/base/http/connection_limits.h"

namespace flowtrain::serve {

struct ServerOptions {
  std::filesystem::path folder;    ///< a folder of runs, or the folder of one run
  std::string host = "127.0.0.1";  ///< the address to listen at
  int port = 8700;                 ///< 0: any free one
  std::string
      token;  ///< the token that visitors need; empty: none, or a random one if `host` is not a loopback address
  http::ConnectionLimits limits = {};
};

/// Answers GET and HEAD, reads below the folder alone and writes nothing. What is wrong with a request is answered by a
/// status from 400 to 499, and the connection is closed after each answer.
class Server {
 public:
  /// Begins to listen. Throws UserError: data where there is no such folder, usage for a token or an address that
  /// cannot be, and where the port is taken.
  explicit Server(const ServerOptions& options);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Returns the address for a browser, with the token: "http://127.0.0.1:8700/?token=…".
  std::string url() const;
  int port() const;
  /// Serves until stop(). Call it once.
  void run();
  /// Ends run(), from any thread, within moments.
  void stop();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace flowtrain::serve
