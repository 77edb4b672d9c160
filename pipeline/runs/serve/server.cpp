#include "pipeline/runs/serve/server.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include "pipeline/base/http/host.h"
#include "pipeline/base/http/listener.h"
#include "pipeline/base/telemetry/log.h"
#include "pipeline/runs/serve/access.h"
#include "pipeline/runs/serve/pages.h"
#include "sampling/core/error.h"
#include "sampling/core/parse.h"
#include "sampling/core/text.h"
#include "stages/system/host_name.h"

namespace flowtrain::serve {
namespace {

const http::Headers security_headers{{"X-Content-Type-Options", "nosniff"},
                                     {"Referrer-Policy", "no-referrer"},
                                     {"X-Frame-Options", "DENY"},
                                     {"Cross-Origin-Resource-Policy", "same-origin"},
                                     {"Cross-Origin-Opener-Policy", "same-origin"},
                                     {"Cache-Control", "no-store"}};

bool can_be_token(const std::string& token) {
  return token.size() >= 8 && token.size() <= 256 && std::ranges::all_of(token, [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.' || c == '~';
         });
}

}  // namespace

class Server::Impl : public http::Listener {
 public:
  explicit Impl(const ServerOptions& options)
      : Listener({.host = options.host, .port = options.port, .limits = options.limits}),
        token_(options.token.empty() && !http::is_loopback(options.host) ? random_token() : options.token),
        pages_(options.folder) {
    std::error_code error;
    if (!std::filesystem::is_directory(options.folder, error))
      throw UserError(ExitCode::data, concat("there is no folder '", options.folder.string(), "'"),
                      "name a folder of runs, e.g. runs, or the folder of one run");
    if (!token_.empty() && !can_be_token(token_))
      throw UserError(ExitCode::usage, "the token: expected 8 to 256 letters, digits or any of -_.~",
                      "leave it out: a random token is made if one is needed");
    headers_ = security_headers;
    if (const auto reason = listen(); !reason.empty())
      throw UserError(ExitCode::usage, concat("cannot listen at ", options.host, ", port ", options.port, ": ", reason),
                      "choose a free port with --port 0, or another address with --host");
  }

  std::string url() const {
    const std::string& host = options().host;
    const bool is_any = host == "0.0.0.0" || host == "::";
    return concat("http://", http::host_and_port(is_any ? lower_case(host_name()) : host, port()), "/",
                  token_.empty() ? "" : "?token=" + token_);
  }

 private:
  // A visitor with the token in the address gets a cookie from answer().
  std::optional<http::Refusal> refused(const http::RequestHead& head) const override {
    if (const auto host = head.headers.find("host");
        host != head.headers.end() && !http::is_own_host(host->second, options().host))
      return http::Refusal{421, "this is not the host that was asked for"};
    const auto target = http::parse_target(head.target);
    if (!target) return http::Refusal{400, "the path is none that can be"};
    if (token_.empty() || has_token(head, cookie_name(), token_)) return {};
    if (equal_in_constant_time(target->value("token"), token_)) return {};
    return http::Refusal{401, "open the address that flowtrain serve has printed, with its token"};
  }

  http::Response answer(const http::RequestHead& head) override {
    const auto target = http::parse_target(head.target);  // it can be read, otherwise the request was refused
    http::Response response;
    if (!token_.empty() && !target->value("token").empty()) {
      // Removes the token from the address, so that it is not seen on the screen or in a history.
      response.status = 303;
      response.set_header("Location", path_of(head.target));
      response.set_header("Set-Cookie", concat(cookie_name(), "=", token_, "; Path=/; HttpOnly; SameSite=Strict"));
      return response;
    }
    const auto tag = head.headers.find("if-none-match");
    pages_.answer(*target, tag == head.headers.end() ? "" : tag->second, response);
    if (response.status >= 400 && response.body.empty())
      response.set_content(concat(response.status, ": this page does not exist\n"), "text/plain");
    return response;
  }

  static std::string path_of(const std::string& target) { return target.substr(0, target.find('?')); }

  // Cookies are shared by all ports of a host.
  std::string cookie_name() const { return concat("flowtrain_", port()); }

  const std::string token_;
  Pages pages_;
};

Server::Server(const ServerOptions& options) : impl_(std::make_unique<Impl>(options)) {}
Server::~Server() = default;

std::string Server::url() const { return impl_->url(); }
int Server::port() const { return impl_->port(); }
void Server::run() { impl_->serve(); }
void Server::stop() { impl_->end(); }

}  // namespace flowtrain::serve
