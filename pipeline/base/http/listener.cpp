#include "pipeline/base/http/listener.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <asio.hpp>
#include <deque>
#include <utility>

#include "pipeline/base/telemetry/log.h"
#include "sampling/core/text.h"

namespace flowtrain::http {
namespace {

using asio::ip::tcp;

// Helper processes of a run do not inherit the socket.
template <typename Socket>
void close_on_exec(Socket& socket) {
  ::fcntl(socket.native_handle(), F_SETFD, FD_CLOEXEC);
}

// Returns the address to listen at. A host that is an address already is not looked up.
tcp::endpoint endpoint_of(asio::io_context& context, const ListenOptions& options, int port, asio::error_code& error) {
  const auto found = tcp::resolver(context).resolve(options.host, std::to_string(port),
                                                    tcp::resolver::passive | tcp::resolver::numeric_service, error);
  return error ? tcp::endpoint() : found.begin()->endpoint();
}

Response refusal_of(const Refusal& refusal) {
  Response response;
  response.status = refusal.status;
  response.set_content(concat(refusal.status, ": ", refusal.why, "\n"), "text/plain");
  if (refusal.status == 405) response.set_header("Allow", "GET, HEAD");
  return response;
}

}  // namespace

struct Listener::Io {
  explicit Io(int threads) : answering(static_cast<std::size_t>(threads)) {}

  int open = 0;                 // outlives the connections that the context still holds at its end
  asio::io_context context{1};  // one thread waits for all clients
  asio::thread_pool answering;
  tcp::acceptor acceptor{context};
  asio::steady_timer pause{context};
  std::deque<std::weak_ptr<Connection>> waited_for;  // the clients whose requests have not come, oldest first
};

// A client's socket with limits on time. Its handlers run on the thread that waits, one at a time.
class Listener::Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Listener& server, tcp::socket socket)
      : server_(server), socket_(std::move(socket)), timer_(server.io_->context) {
    close_on_exec(socket_);
    ++server_.io_->open;
  }
  ~Connection() { --server_.io_->open; }

  void start() {
    limit(server_.options_.limits.head);
    read_head();
  }
  bool has_head() const { return has_head_; }
  void close() {
    asio::error_code ignored;
    timer_.cancel();
    socket_.close(ignored);
  }

 private:
  // Sets the time that the client has from now on.
  void limit(std::chrono::milliseconds time) {
    timer_.expires_after(time);
    timer_.async_wait([self = shared_from_this()](asio::error_code error) {
      if (!error && self->timer_.expiry() <= std::chrono::steady_clock::now()) self->give_up();
    });
  }

  void give_up() {
    if (has_head_ || text_.empty()) return close();
    has_head_ = true;  // a part of a request came
    asio::error_code ignored;
    socket_.cancel(ignored);
    limit(server_.options_.limits.answer);
    send(refusal_of({408, "the request did not come in time"}));
  }

  void read_head() {
    socket_.async_read_some(asio::buffer(buffer_),
                            [self = shared_from_this()](asio::error_code error, std::size_t got) {
                              if (self->has_head_) return;
                              if (error) return self->close();
                              self->take(got);
                            });
  }

  void take(std::size_t got) {
    const auto before = text_.size();
    text_.append(buffer_.data(), std::min(got, most_head_bytes - before));
    const auto last = text_.find("\r\n\r\n", before < 3 ? 0 : before - 3);
    if (last == text_.npos && text_.size() < most_head_bytes) return read_head();
    has_head_ = true;
    limit(server_.options_.limits.answer);
    if (last == text_.npos) {
      const bool in_first_line = text_.find('\n') == text_.npos;
      return send(refusal_of({in_first_line ? 414 : 431, "the head of the request is too long"}));
    }
    if (auto refusal = parse_head(std::string_view(text_).substr(0, last + 4), head_))
      return send(refusal_of(*refusal));
    if (auto refusal = server_.refused(head_)) return send(refusal_of(*refusal));
    asio::post(server_.io_->answering, [self = shared_from_this()]() mutable {
      auto response = self->server_.respond(self->head_);
      auto& context = self->server_.io_->context;
      asio::post(context, [self = std::move(self), response = std::move(response)]() mutable {
        self->send(std::move(response));
      });
    });
  }

  void send(Response response) {
    response_ = std::move(response);
    const auto size = response_.part ? response_.size_bytes : response_.body.size();
    text_ = concat("HTTP/1.1 ", response_.status, response_.status < 400 ? " OK" : " Refused",
                   "\r\nContent-Length: ", size, "\r\nConnection: close\r\n");
    for (const auto* headers : {&server_.headers_, &response_.headers})
      for (auto& [name, value] : *headers) text_ += concat(name, ": ", value, "\r\n");
    text_ += "\r\n";
    if (head_.method == "HEAD" || response_.status == 304) {
      response_.part = nullptr;
      response_.body.clear();
    }
    text_ += response_.body;
    write();
  }

  void write() {
    asio::async_write(socket_, asio::buffer(text_), [self = shared_from_this()](asio::error_code error, std::size_t) {
      if (error) return self->close();
      self->write_part();
    });
  }

  // A file that has become shorter ends the connection before the promised length, which clients notice.
  void write_part() {
    if (!response_.part || sent_bytes_ >= response_.size_bytes) return finish();
    text_ = response_.part(sent_bytes_);
    if (text_.empty()) return close();
    text_.resize(std::min<std::uint64_t>(text_.size(), response_.size_bytes - sent_bytes_));
    sent_bytes_ += text_.size();
    write();
  }

  // Reads for a moment what the client still sends: closing at once would take the answer back.
  void finish() {
    asio::error_code ignored;
    socket_.shutdown(tcp::socket::shutdown_send, ignored);
    limit(server_.options_.limits.rest);
    drain();
  }

  void drain() {
    constexpr std::size_t most_bytes = 1 << 20;
    socket_.async_read_some(asio::buffer(buffer_),
                            [self = shared_from_this()](asio::error_code error, std::size_t got) {
                              self->drained_bytes_ += got;
                              if (error || self->drained_bytes_ > most_bytes) return self->close();
                              self->drain();
                            });
  }

  Listener& server_;
  tcp::socket socket_;
  asio::steady_timer timer_;
  bool has_head_ = false;  // true as well once it no longer waits for the head
  RequestHead head_;
  Response response_;
  std::string text_;  // the part of the head that has come; later the part of the answer that is being sent
  std::uint64_t sent_bytes_ = 0;
  std::size_t drained_bytes_ = 0;
  std::array<char, 4096> buffer_;
};

Listener::Listener(ListenOptions options) : options_(std::move(options)), io_(std::make_unique<Io>(options_.threads)) {}

Listener::~Listener() = default;

std::string Listener::listen() {
  asio::error_code error;
  const auto endpoint = endpoint_of(io_->context, options_, options_.port, error);
  auto& acceptor = io_->acceptor;
  if (!error) acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) return error.message();
  close_on_exec(acceptor);
  port_ = acceptor.local_endpoint().port();
  accept();
  return {};
}

// A machine without room for another socket is asked again in a moment.
void Listener::accept() {
  io_->acceptor.async_accept([this](asio::error_code error, tcp::socket socket) {
    if (!error) {
      accept();
      return take(std::make_shared<Connection>(*this, std::move(socket)));
    }
    if (error == asio::error::operation_aborted) return;
    log_warn(concat("a connection to port ", port_, " was refused: ", error.message(), "; trying again"));
    io_->pause.expires_after(std::chrono::milliseconds(200));
    io_->pause.async_wait([this](asio::error_code ended) {
      if (!ended) accept();
    });
  });
}

void Listener::take(const std::shared_ptr<Connection>& connection) {
  auto& waited_for = io_->waited_for;
  const auto is_waited_for = [](const std::weak_ptr<Connection>& each) {
    const auto open = each.lock();
    return open && !open->has_head();
  };
  while (!waited_for.empty() && !is_waited_for(waited_for.front())) waited_for.pop_front();
  if (io_->open > options_.connections && !waited_for.empty()) {
    if (const auto oldest = waited_for.front().lock()) oldest->close();
    waited_for.pop_front();
  }
  waited_for.push_back(connection);
  connection->start();
}

Response Listener::respond(const RequestHead& head) {
  try {
    return answer(head);
  } catch (const std::exception& cause) {
    log_warn(concat("a page could not be made: ", cause.what()));
  }
  Response response;
  response.status = 500;
  response.set_content("This page could not be made. The server's messages say why.\n", "text/plain");
  return response;
}

void Listener::serve() {
  while (!io_->context.stopped()) try {
      io_->context.run();
    } catch (const std::exception& error) {  // lack of memory, for example: a run does not end with its server
      log_warn(concat("a request was not answered: ", error.what()));
    }
  io_->answering.stop();
  io_->answering.join();
}

void Listener::end() { io_->context.stop(); }

}  // namespace flowtrain::http
