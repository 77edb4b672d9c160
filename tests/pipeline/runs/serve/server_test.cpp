#include "pipeline/runs/serve/server.h"

#include <doctest/doctest.h>

#include <atomic>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "pipeline/base/http/listener.h"
#include "sampling/core/error.h"
#include "tests/pipeline/runs/serve/client.h"
#include "tests/support/temp_folder.h"

namespace flowtrain::server_test {

using namespace flowtrain::serve;
using nlohmann::json;

namespace {

const std::string secret = "this must not be seen";
const std::string line = R"({"kind":"train","iter":10,"epoch":1,"loss":1.5,"samples_per_s":100.0})"
                         "\n";

// Two runs, and files that nobody may see.
class ServedRuns {
 public:
  explicit ServedRuns(const std::string& token = "", http::ConnectionLimits limits = {}) {
    folder_.write("secret.txt", secret);
    folder_.write("secret/config.toml", secret);
    folder_.write("runs/one/config.toml", "[run]\nmax_iter = 20\n");
    folder_.write("runs/one/metrics.jsonl", line);
    folder_.write("runs/one/pictures/iter-00000010/00.png", "PNG");
    folder_.write("runs/one/snapshots/iter-00000010/model.safetensors", secret);
    folder_.write("runs/one/notes.txt", secret);
    folder_.write("runs/deep/two words/config.toml", "[run]\nmax_iter = 30\n");
    folder_.write("runs/deep/two words/metrics.jsonl", line);
    server_ = std::make_unique<Server>(
        ServerOptions{.folder = folder_.path() / "runs", .port = 0, .token = token, .limits = limits});
    thread_ = std::jthread([this] { server_->run(); });
  }
  ~ServedRuns() { server_->stop(); }

  int port() const { return server_->port(); }
  std::string url() const { return server_->url(); }
  std::filesystem::path run() const { return folder_.path() / "runs" / "one"; }
  const TempFolder& folder() const { return folder_; }

 private:
  TempFolder folder_;
  std::unique_ptr<Server> server_;
  std::jthread thread_;
};

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

std::vector<std::string> hostile_targets() {
  std::vector<std::string> targets;
  const std::vector<std::string> ups{"..",  "%2e%2e", "%2E%2e",       ".%2e",         "%2e.",  "%252e%252e", "..%00",
                                     "..;", "....",   "%c0%ae%c0%ae", "%uff0e%uff0e", "..%5c", "..\\"};
  const std::vector<std::string> slashes{"/", "%2f", "%5c", "\\", "//", "%252f"};
  for (auto& up : ups)
    for (auto& slash : slashes)
      for (const std::string from : {"/", "/run/one/", "/run/one/pictures/", "/run/deep/two%20words/"})
        targets.push_back(from + repeated(up + slash, 3) + "secret.txt");
  for (const char* target : {"/run/one/snapshots/iter-00000010/model.safetensors",
                             "/run/one/notes.txt",
                             "/run/one/pictures/",
                             "/run/one/pictures/iter-00000010/",
                             "/run/one/run.lock",
                             "/run/secret/config.toml",
                             "/run/.././secret.txt",
                             "/secret.txt",
                             "/etc/passwd",
                             "/run/etc/passwd",
                             "/run//etc/passwd",
                             "/file:///etc/passwd",
                             "/run/one/config.toml/",
                             "/run/one/config.toml%00.png",
                             "/run/one/%2fetc%2fpasswd",
                             "/data?run=../secret",
                             "/data?run=%2e%2e%2fsecret",
                             "/data?run=/etc",
                             "/data",
                             "/data?run=",
                             "/lines",
                             "/lines?run=none",
                             "/lines?run=one&run=deep/two%20words",
                             "/run/?run=one&run=../secret",
                             "/run/",
                             "/run",
                             "/list.html",
                             "/page_texts.h",
                             "/.git/config",
                             "/%",
                             "/%f",
                             "/x%0d%0aSet-Cookie:a=b",
                             "/run/one%0a/",
                             "/run/%F0%9F",
                             "/run/?run=%ff%fe",
                             "/run/one/../one/"})
    targets.emplace_back(target);
  return targets;
}

// The request for /fault is an exception on the thread that waits for all clients.
class FaultyListener : public http::Listener {
 public:
  FaultyListener() : Listener({.host = "127.0.0.1"}) {}
  mutable std::atomic<int> faults = 0;

 private:
  std::optional<http::Refusal> refused(const http::RequestHead& head) const override {
    if (head.target != "/fault") return {};
    ++faults;
    faults.notify_all();
    throw std::runtime_error("no memory");
  }
  http::Response answer(const http::RequestHead&) override {
    http::Response response;
    response.status = 200;
    return response;
  }
};

}  // namespace

TEST_CASE("a server goes on after an exception in one of its connections") {
  FaultyListener server;
  REQUIRE(server.listen().empty());
  const std::jthread serving([&] { server.serve(); });
  const Client failing(server.port());
  failing.send("GET /fault HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
  server.faults.wait(0);
  CHECK(status_of(get(server.port(), "/")) == 200);
  server.end();
}

TEST_CASE("the list, pages, data and files of runs") {
  const ServedRuns served;
  const int port = served.port();
  CHECK(served.url() == "http://127.0.0.1:" + std::to_string(port) + "/");
  CHECK(status_of(get(port, "/")) == 200);
  CHECK(header_of(get(port, "/"), "Content-Security-Policy").find("default-src 'none'; script-src 'self';") == 0);
  for (const char* target : {"/list.js", "/live.js", "/style.css", "/live.css", "/run/one/", "/run/deep/two%20words/",
                             "/run/?run=one&run=deep/two+words", "/run/one/metrics.jsonl", "/run/one/config.toml",
                             "/run/one/pictures/iter-00000010/00.png", "/data?run=one&run=deep%2Ftwo%20words"}) {
    const auto answer = get(port, target);
    CHECK_MESSAGE(status_of(answer) == 200, std::string(target));
    CHECK(header_of(answer, "X-Content-Type-Options") == "nosniff");
    CHECK(header_of(answer, "Referrer-Policy") == "no-referrer");
    CHECK(!body_of(answer).empty());
    CHECK(body_of(ask(port, std::string("HEAD ") + target + " HTTP/1.1\r\nHost: localhost\r\n\r\n")).empty());
  }
  const auto list = json::parse(body_of(get(port, "/runs")))["runs"];
  REQUIRE(list.size() == 2);
  CHECK(list[0]["name"] == "deep/two words");
  CHECK(list[1]["name"] == "one");
  CHECK(list[1]["status"] == "failed");
  CHECK(list[1]["iteration"] == 10);
  CHECK(list[1]["last_iteration"] == 20);
  CHECK(list[1]["loss"] == 1.5);
  CHECK(header_of(get(port, "/run/one"), "Location") == "./one/");
  CHECK(body_of(get(port, "/run/one/pictures/iter-00000010/00.png")) == "PNG");
}

TEST_CASE("what has not changed is not sent again, and of metrics only new lines") {
  const ServedRuns served;
  const int port = served.port();
  for (const char* target : {"/runs", "/data?run=one"}) {
    const auto tag = header_of(get(port, target), "ETag");
    REQUIRE(!tag.empty());
    CHECK(status_of(get(port, target, "If-None-Match: " + tag + "\r\n")) == 304);
    CHECK(status_of(get(port, target, "If-None-Match: \"other\"\r\n")) == 200);
  }
  const auto tag = header_of(get(port, "/data?run=one"), "ETag");
  const auto first = get(port, "/lines?run=one");
  CHECK(body_of(first) == line);
  const auto from = "/lines?run=one&from=" + header_of(first, "X-Mark");
  CHECK(body_of(get(port, from)).empty());
  const std::string more = R"({"kind":"val","iter":10,"loss":1.25})"
                           "\n";
  std::ofstream(served.run() / "metrics.jsonl", std::ios::app) << more << "{\"torn";
  CHECK(body_of(get(port, from)) == more);
  CHECK(header_of(get(port, from), "X-Restarted").empty());
  CHECK(header_of(get(port, "/data?run=one"), "ETag") != tag);
  std::ofstream(served.run() / "metrics.jsonl", std::ios::trunc) << more;  // cut back
  CHECK(body_of(get(port, from)) == more);
  CHECK(header_of(get(port, from), "X-Restarted") == "1");
  for (const char* wrong : {"-", "x", "18446744073709551616-1", "99999-1", "-1-1", "1"})
    CHECK(body_of(get(port, std::string("/lines?run=one&from=") + wrong)) == more);
}

TEST_CASE("a token is asked for where there is one") {
  const std::string token = "correct-horse-battery";
  const ServedRuns served(token);
  const int port = served.port();
  CHECK(served.url() == "http://127.0.0.1:" + std::to_string(port) + "/?token=" + token);
  for (const char* target : {"/", "/runs", "/run/one/", "/run/one/metrics.jsonl", "/list.js", "/none", "/?token=",
                             "/?token=correct-horse-batterx", "/?token=correct", "/?Token=correct-horse-battery"})
    CHECK_MESSAGE(status_of(get(port, target)) == 401, std::string(target));
  CHECK(status_of(get(port, "/runs", "Authorization: Bearer " + token + "\r\n")) == 200);
  CHECK(status_of(get(port, "/runs", "Authorization: Bearer wrong\r\n")) == 401);
  const auto visit = get(port, "/run/one/?token=" + token);
  CHECK(status_of(visit) == 303);
  CHECK(header_of(visit, "Location") == "/run/one/");
  const auto cookie = header_of(visit, "Set-Cookie");
  CHECK(cookie.find("HttpOnly; SameSite=Strict") != std::string::npos);
  CHECK(status_of(get(port, "/runs", "Cookie: a=b; " + cookie.substr(0, cookie.find(';')) + "\r\n")) == 200);
  CHECK_THROWS_AS(ServedRuns("short"), UserError);
  CHECK_THROWS_AS(ServedRuns("with blanks in it"), UserError);
}

TEST_CASE("hostile requests get a status from 400 to 499, and nothing of what they look for") {
  const ServedRuns served;
  const int port = served.port();
  int requests = 0;
  const auto check = [&](const std::string& request) {
    ++requests;
    const auto answer = ask(port, request);
    CAPTURE(request.substr(0, 200));
    const int status = status_of(answer);
    CHECK((status >= 400 && status < 500));
    CHECK(answer.find(secret) == std::string::npos);
    CHECK(answer.find("root:") == std::string::npos);
    CHECK(answer.find("HTTP/1.1", 1) == std::string::npos);  // one answer to one connection
  };
  const std::string rest = " HTTP/1.1\r\nHost: localhost\r\n\r\n";
  for (auto& target : hostile_targets()) check("GET " + target + rest);
  for (const char* method : {"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "PRI", "get", "PROPFIND",
                             "GETGET", "\x01\x02", "G\x00T"})
    check(std::string(method) + " /" + rest);
  for (const char* host : {"example.com", "localhost.example.com", "evil:80", "127.0.0.1.nip.io", "", "a b",
                           "localhost:x", "[::1", "\xff"})
    check(std::string("GET / HTTP/1.1\r\nHost: ") + host + "\r\n\r\n");
  for (const std::string& head :
       {std::string("GET / HTTP/1.1\r\n\r\n"), std::string("GET /\r\n\r\n"), std::string("\r\n\r\n"),
        std::string("GET / HTTP/1.1\r\nHost: localhost\r\nHost: example.com\r\n\r\n"),
        std::string("GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n0123456789"),
        std::string("GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 18446744073709551615\r\n\r\n"),
        std::string("GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n"),
        std::string("GET / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\n"),
        std::string("GET / HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n\r\n"),
        std::string("GET / HTTP/1.1\nHost: localhost\n\r\n\r\n"), "GET /" + std::string(100'000, 'a') + rest,
        std::string(100'000, 'A'), "GET / HTTP/1.1\r\nHost: localhost\r\nX: " + std::string(100'000, 'a') + "\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: localhost\r\n" + repeated("X: a\r\n", 1'000) + "\r\n",
        "GET / HTTP/1.1\r\n" + repeated(" folded\r\n", 100) + "\r\n",
        std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 15)})
    check(head);
  for (const auto& target : hostile_targets())  // behind a right request: one answer, to the first
    if (++requests % 10 == 0) CHECK(times_of_answers(ask(port, "GET /runs" + rest + "GET " + target + rest)) == 1);
  CHECK(requests > 700);
  CHECK(status_of(get(port, "/runs")) == 200);
}

TEST_CASE("headers that servers act upon do no harm") {
  const ServedRuns served;
  const int port = served.port();
  for (const std::string& header :
       {"Range: bytes=0-," + repeated("0-,", 1'000) + "0-", std::string("Range: bytes=5-1"), std::string("Range: x"),
        std::string("Accept: ") + std::string(5'000, ','), std::string("REMOTE_ADDR: 1.2.3.4"),
        std::string("Connection: keep-alive"), std::string("Upgrade: h2c"), std::string("Accept-Encoding: gzip, br")}) {
    const auto answer = get(port, "/run/one/metrics.jsonl", header + "\r\n");
    CHECK_MESSAGE(status_of(answer) == 200, header.substr(0, 40));
    CHECK(header_of(answer, "Connection") == "close");
  }
}

TEST_CASE("hundreds of silent clients, which have a minute, do not keep others from answers") {
  const ServedRuns served("", {.head = std::chrono::minutes(1)});
  std::vector<std::unique_ptr<Client>> silent;
  for (int i = 0; i < 300; ++i) {  // more than may be open at a time
    silent.push_back(std::make_unique<Client>(served.port()));
    silent.back()->send(i % 2 ? "GET /runs HT" : "");
    if (i % 50 == 0) CHECK(status_of(get(served.port(), "/runs")) == 200);
  }
  CHECK(status_of(get(served.port(), "/runs")) == 200);
  CHECK(silent[0]->receive().empty());  // the oldest had to go
  silent.back()->send("TP/1.1\r\nHost: localhost\r\n\r\n");
  CHECK(status_of(silent.back()->receive()) == 200);
}

TEST_CASE("clients that are slow, silent, or go away do not keep others from answers") {
  const ServedRuns served("", {.head = std::chrono::milliseconds(400), .rest = std::chrono::milliseconds(50)});
  const int port = served.port();
  std::vector<std::unique_ptr<Client>> silent;
  for (int i = 0; i < 40; ++i) {
    silent.push_back(std::make_unique<Client>(port));
    silent.back()->send(i % 2 ? "GET /runs HT" : "");
  }
  CHECK(status_of(get(port, "/runs")) == 200);
  CHECK(status_of(silent[1]->receive()) == 408);
  CHECK(silent[0]->receive().empty());

  const Client slow(port);  // a byte at a time never gets to the end
  bool open = true;
  for (int i = 0; i < 200 && open; ++i) {
    open = slow.send("G");
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  CHECK(!open);
  for (int i = 0; i < 50; ++i) {
    const Client gone(port);
    gone.send("GET /run/one/ HTTP/1.1\r\nHost: localhost\r\n\r\n");
  }
  CHECK(status_of(get(port, "/runs")) == 200);
}

TEST_CASE("a folder that is not there, and a port that is taken, are errors with a way out") {
  const ServedRuns served;
  try {
    Server({.folder = served.run(), .port = served.port()});
    FAIL("no error");
  } catch (const UserError& error) {
    CHECK(std::string(error.what()).find("port " + std::to_string(served.port())) != std::string::npos);
    CHECK(error.hint().find("--port 0") != std::string::npos);
  }
  CHECK_THROWS_AS(Server({.folder = served.run() / "none", .port = 0}), UserError);
  const Server one({.folder = served.run(), .port = 0});
  CHECK(one.port() > 0);
}

}  // namespace flowtrain::server_test
