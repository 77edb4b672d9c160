#include "pipeline/serve/server.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <semaphore>
#include <utility>

#include "pipeline/serve/access.h"
#include "pipeline/serve/connection.h"
#include "pipeline/serve/pages.h"
#include "pipeline/telemetry/log.h"
#include "sampling/core/error.h"
#include "sampling/core/text.h"

namespace flowtrain::serve {
namespace {

const httplib::Headers security_headers{{"X-Content-Type-Options", "nosniff"},
                                        {"Referrer-Policy", "no-referrer"},
                                        {"X-Frame-Options", "DENY"},
                                        {"Cross-Origin-Resource-Policy", "same-origin"},
                                        {"Cross-Origin-Opener-Policy", "same-origin"},
                                        {"Cache-Control", "no-store"}};

// httplib's threads, where a connection waits for a free one before it is taken: httplib's own list of those that wait
// has no end.
class BoundedThreads : public httplib::TaskQueue {
 public:
  explicit BoundedThreads(int count) : free_(count), threads_(static_cast<std::size_t>(count)) {}

  void enqueue(std::function<void()> serve) override {
    free_.acquire();
    threads_.enqueue([this, serve = std::move(serve)] {
      serve();
      free_.release();
    });
  }
  void shutdown() override { threads_.shutdown(); }

 private:
  std::counting_semaphore<> free_;
  httplib::ThreadPool threads_;
};

// SO_REUSEADDR alone: with httplib's SO_REUSEPORT a second server takes the same port, and half of the requests.
void allow_reuse(socket_t socket) {
  const int yes = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
}

bool can_be_token(const std::string& token) {
  return token.size() >= 8 && token.size() <= 256 && std::ranges::all_of(token, [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.' || c == '~';
         });
}

}  // namespace

class Server::Impl : public httplib::Server {
 public:
  explicit Impl(ServerOptions options) : options_(std::move(options)), pages_(options_.folder) {
    std::error_code error;
    if (!std::filesystem::is_directory(options_.folder, error))
      throw UserError(ExitCode::data, concat("there is no folder '", options_.folder.string(), "'"),
                      "give a folder of runs, e.g. runs, or that of one run");
    if (options_.token.empty() && !is_loopback(options_.host)) options_.token = random_token();
    if (!options_.token.empty() && !can_be_token(options_.token))
      throw UserError(ExitCode::usage, "--token: expected 8 to 256 letters, digits or any of -_.~",
                      "without --token a random one is made where one is needed");
    new_task_queue = [this] { return new BoundedThreads(options_.connections); };
    set_socket_options(allow_reuse);
    set_default_headers(security_headers);
    // Before httplib's own routes, which compare paths by regular expressions.
    set_pre_routing_handler([this](auto& request, auto& response) {
      answer(request, response);
      return HandlerResponse::Handled;
    });
    set_exception_handler([](auto&, auto& response, const std::exception_ptr& thrown) {
      try {
        std::rethrow_exception(thrown);
      } catch (const std::exception& cause) {
        log_warn(concat("a page could not be made: ", cause.what()));
      }
      response.status = 500;
      response.set_content("This page could not be made. The server's messages say why.\n", "text/plain");
    });
    bind();
  }

  const ServerOptions& options() const { return options_; }
  int port() const { return port_; }

  // httplib's stop() does nothing before it listens, and this may come at any moment: accept() fails from now on.
  void end() {
    stopping_ = true;
    ::shutdown(svr_sock_, SHUT_RDWR);
  }

 private:
  void bind() {
    if (options_.port == 0)
      port_ = bind_to_any_port(options_.host);
    else if (bind_to_port(options_.host, options_.port))
      port_ = options_.port;
    if (port_ > 0) {
      constexpr int waiting = 128;  // httplib has 5, and a browser that finds no place tries again after a second
      ::listen(svr_sock_, waiting);
      return;
    }
    throw UserError(ExitCode::usage,
                    concat("cannot listen at ", options_.host, ", port ", options_.port, ": the port is taken, or the ",
                           "address is none of this machine's"),
                    "--port 0 takes a free port, --host another address");
  }

  // Called by httplib with each connection.
  bool process_and_close_socket(socket_t socket) override {
    Connection connection(socket, options_.limits, stopping_);
    RequestHead head;
    auto refusal = connection.read_head(head);
    if (!refusal) refusal = refused_access(head);
    if (refusal) {
      if (refusal->status > 0) refuse(connection, *refusal);
    } else {
      connection.replay(head);
      bool closed = false;
      process_request(connection, /*close_connection=*/true, closed, nullptr);
    }
    connection.finish();
    ::close(socket);
    return true;
  }

  // Of a visitor who brings the token in the address, answer() makes one with a cookie.
  std::optional<Refusal> refused_access(const RequestHead& head) const {
    if (const auto host = head.headers.find("host");
        host != head.headers.end() && !is_own_host(host->second, options_.host))
      return Refusal{421, "this is not the host that was asked for"};
    const auto target = parse_target(head.target);
    if (!target) return Refusal{400, "the path is none that can be"};
    if (options_.token.empty() || has_token(head, cookie_name(), options_.token)) return {};
    if (equal_in_constant_time(target->value("token"), options_.token)) return {};
    return Refusal{401, "open the address that flowtrain serve has printed, with its token"};
  }

  static void refuse(Connection& connection, const Refusal& refusal) {
    const std::string body = concat(refusal.status, ": ", refusal.why, "\n");
    std::string text =
        concat("HTTP/1.1 ", refusal.status, " Refused\r\nContent-Type: text/plain\r\nContent-Length: ", body.size(),
               "\r\nConnection: close\r\n");
    if (refusal.status == 405) text += "Allow: GET, HEAD\r\n";
    for (auto& [name, value] : security_headers) text += concat(name, ": ", value, "\r\n");
    text += "\r\n" + body;
    connection.write(text.data(), text.size());
  }

  void answer(const httplib::Request& request, httplib::Response& response) {
    const auto target = parse_target(request.target);
    if (!options_.token.empty() && target && !target->value("token").empty()) {
      // The token leaves the address, so that nobody reads it over a shoulder or in a history.
      response.status = 303;
      response.set_header("Location", path_of(request.target));
      response.set_header("Set-Cookie",
                          concat(cookie_name(), "=", options_.token, "; Path=/; HttpOnly; SameSite=Strict"));
      return;
    }
    if (target)
      pages_.answer(*target, request.get_header_value("If-None-Match"), response);
    else
      response.status = 400;
    if (response.status >= 400 && response.body.empty())
      response.set_content(concat(response.status, ": there is nothing here\n"), "text/plain");
  }

  static std::string path_of(const std::string& target) { return target.substr(0, target.find('?')); }

  // Cookies are shared by all ports of a host.
  std::string cookie_name() const { return concat("flowtrain_", port_); }

  ServerOptions options_;
  Pages pages_;
  int port_ = -1;
  std::atomic<bool> stopping_ = false;
};

Server::Server(ServerOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Server::~Server() = default;

std::string Server::url() const {
  const auto& [folder, host, port, token, limits, connections] = impl_->options();
  const bool is_any = host == "0.0.0.0" || host == "::";
  const std::string name = is_any ? machine_name() : host.find(':') == host.npos ? host : "[" + host + "]";
  return concat("http://", name, ":", impl_->port(), "/", token.empty() ? "" : "?token=" + token);
}

int Server::port() const { return impl_->port(); }
void Server::run() { impl_->listen_after_bind(); }
void Server::stop() { impl_->end(); }

}  // namespace flowtrain::serve
