#include "sampling/remote/remote.h"

#include <doctest/doctest.h>

#include <atomic>
#include <cstdlib>
#include <map>
#include <thread>

#include "tests/support/failure_helper.h"
#include "tests/support/http_server.h"
#include "tests/support/settings_helper.h"
#include "tests/support/temp_folder.h"

namespace flowtrain::remote_test {
namespace {

using Reply = HttpServer::Reply;
using Request = HttpServer::Request;

std::shared_ptr<const RemoteAccess> quick_access(int retries = 3, int timeout_s = 30) {
  using namespace std::chrono_literals;
  return std::make_shared<const RemoteAccess>(
      HttpClient::Patience{.retries = retries, .timeout = timeout_s * 1s, .first_delay = 1ms}, nullptr);
}

std::string read(const ByteSource& file, std::uint64_t offset, std::size_t count) {
  std::string bytes(count, '\0');
  bytes.resize(file.read_at(offset, std::as_writable_bytes(std::span(bytes))));
  return bytes;
}

/// A file whose first request, for its version, is answered rightly, and the others by `handler`, counted from 0.
struct Misbehaving {
  explicit Misbehaving(HttpServer::Handler handler, int retries = 3, int timeout_s = 30)
      : server([this, handler = std::move(handler)](const Request& request, int number) {
          return number == 0 ? HttpServer::range_of(bytes, request) : handler(request, number - 1);
        }),
        file(server.url("a.tar"), quick_access(retries, timeout_s)) {}

  /// The error of reading 1,000 bytes from 100 on, and how many requests were made for them.
  std::pair<RemoteError, int> failure() {
    auto error = failure_of<RemoteError>([&] { read(file, 100, 1000); });
    return {error, static_cast<int>(server.requests().size()) - 1};
  }

  std::string bytes = bytes_of(10'000);
  HttpServer server;
  RemoteFile file;
};

void check_text(const RemoteError& error, const std::string& part, const std::string& hint = "") {
  INFO("message: " << std::string(error.what()) << "; hint: " << error.hint());
  CHECK(std::string(error.what()).find(part) != std::string::npos);
  CHECK(error.hint().find(hint) != std::string::npos);
}

/// Sets variables of the environment, and removes them in the end.
class Environment {
 public:
  using Values = std::map<std::string, std::string>;
  explicit Environment(Values values) : values_(std::move(values)) {
    for (const auto& [name, value] : values_) setenv(name.c_str(), value.c_str(), 1);
  }
  ~Environment() {
    for (const auto& [name, value] : values_) unsetenv(name.c_str());
  }

 private:
  Values values_;
};

TEST_CASE("remote: ranges are read anywhere over one connection") {
  const auto bytes = bytes_of(100'000);
  HttpServer server([&](const Request& request, int) { return HttpServer::range_of(bytes, request); });
  const RemoteFile file(server.url("a.tar"), quick_access());
  CHECK(file.size_bytes() == bytes.size());
  for (std::size_t offset : {0u, 1u, 99'000u, 5'000u}) CHECK(read(file, offset, 1'000) == bytes.substr(offset, 1'000));
  CHECK(read(file, 99'990, 100) == bytes.substr(99'990));
  CHECK(read(file, 100'000, 100).empty());
  CHECK(read(file, 7, 0).empty());
  const auto requests = server.requests();
  CHECK(requests.size() == 6);
  for (const auto& request : requests) {
    CHECK(request.connection == 0);
    CHECK(request.target == "/a.tar");
    CHECK(request.header("accept-encoding") == "identity");
    CHECK(request.header("range").starts_with("bytes="));
    CHECK(request.header("authorization").empty());
  }
}

TEST_CASE("remote: threads read at once, each over a connection of its own") {
  const auto bytes = bytes_of(100'000);
  HttpServer server([&](const Request& request, int) { return HttpServer::range_of(bytes, request); });
  const RemoteFile file(server.url("a.tar"), quick_access());
  std::atomic<int> wrong = 0;
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < 4; ++i)
      threads.emplace_back([&, i] {
        for (std::size_t at = i; at < 90'000; at += 5'000) wrong += read(file, at, 3'000) != bytes.substr(at, 3'000);
      });
  }
  CHECK(wrong == 0);
  for (const auto& request : server.requests()) CHECK(request.connection < 4);
}

TEST_CASE("remote: of a broken transfer only the rest is asked for again") {
  const auto bytes = bytes_of(10'000);
  Misbehaving remote([&](const Request& request, int number) {
    auto reply = HttpServer::range_of(bytes, request);
    if (number == 0) reply.cut = 300;         // closed in the middle
    if (number == 1) reply.cut = 0;           // before the first byte
    if (number == 2) reply.body.resize(200);  // a wrong length, and Content-Length agrees
    return reply;
  });
  CHECK(read(remote.file, 100, 1'000) == bytes.substr(100, 1'000));
  const auto requests = remote.server.requests();
  REQUIRE(requests.size() == 5);
  CHECK(requests[1].header("range") == "bytes=100-1099");
  CHECK(requests[2].header("range") == "bytes=400-1099");
  CHECK(requests[3].header("range") == "bytes=400-1099");
  CHECK(requests[4].header("range") == "bytes=600-1099");
}

TEST_CASE("remote: a transfer that always breaks is given up") {
  const auto bytes = bytes_of(10'000);
  const auto cut = [&](const Request& request, int) {
    auto reply = HttpServer::range_of(bytes, request);
    reply.cut = 10;
    return reply;
  };
  const auto [error, requests] = Misbehaving(cut).failure();
  CHECK(requests == 4);
  check_text(error, ", after 4 tries", "raise data.retries");
}

TEST_CASE("remote: faults that pass are waited for") {
  const auto bytes = bytes_of(10'000);
  for (const int status : {500, 502, 503, 429, 408}) {
    Misbehaving remote([&](const Request& request, int number) {
      if (number < 2) return Reply{.status = status, .headers = {"Retry-After: 0"}, .body = "busy"};
      return HttpServer::range_of(bytes, request);
    });
    CHECK(read(remote.file, 100, 1'000) == bytes.substr(100, 1'000));
    CHECK(remote.server.requests().size() == 4);
  }
  const auto [error, requests] = Misbehaving([](const Request&, int) { return Reply{.status = 500}; }).failure();
  CHECK(requests == 4);
  check_text(error, "the server answers with status 500 (server error), after 4 tries", "raise data.retries");
  const auto [once, single] = Misbehaving([](const Request&, int) { return Reply{.status = 503}; }, 0).failure();
  CHECK(single == 1);
  check_text(once, "status 503");
}

// Waits for a second, so it is not of tier fast. On a busy machine a right answer may take as long: then it is asked
// for again, too.
TEST_CASE("remote: a silent server is given up after timeout_s, and asked again" * doctest::test_suite("full")) {
  const auto bytes = bytes_of(10'000);
  const auto handler = [&](const Request& request, int number) {
    return number == 0 ? Reply{.stall = true} : HttpServer::range_of(bytes, request);
  };
  Misbehaving remote(handler, 100, 1);
  CHECK(read(remote.file, 100, 1'000) == bytes.substr(100, 1'000));
  CHECK(remote.server.requests().size() >= 3);
}

TEST_CASE("remote: what will not pass is not asked for twice") {
  const auto check = [](Reply reply, const std::string& message, const std::string& hint = "") {
    const auto [error, requests] = Misbehaving([&](const Request&, int) { return reply; }).failure();
    CHECK(requests == 1);
    check_text(error, message, hint);
  };
  check({.status = 404, .body = "<html>"}, "status 404 (no such file)", "the range of shards");
  check({.status = 403}, "status 403 (access denied)", "check the permissions");
  check({.status = 401}, "status 401 (a login is needed)", "login or token");
  check({.status = 400}, "status 400");
  check({.status = 416}, "the file was cut on the server");
  check({.status = 200, .body = bytes_of(10'000)}, "status 200: it sends whole files only", "copy the shards");
  check({.status = 204}, "a request for a range with status 204");
  const std::string tag = "ETag: \"v1\"", right = "Content-Range: bytes 100-1099/10000";
  const auto body = bytes_of(1'000);
  check({.headers = {tag}, .body = body}, "without Content-Range");
  check({.headers = {tag, "Content-Range: bytes 0-999/10000"}, .body = body}, "but sends others: bytes 0-999");
  check({.headers = {tag, right}, .body = bytes_of(1'001)}, "more bytes than were requested");
  check({.headers = {tag, right, "Content-Encoding: gzip"}, .body = body}, "compresses its answers (gzip)");
}

TEST_CASE("remote: a file that changes is an error, never a mixture") {
  const auto check = [](std::vector<std::string> headers) {
    const auto [error, requests] =
        Misbehaving([&](const Request&, int) { return Reply{.headers = headers, .body = bytes_of(1'000)}; }).failure();
    CHECK(requests == 1);
    check_text(error, "changed on the server since the start", "start again");
  };
  const std::string right = "Content-Range: bytes 100-1099/10000";
  check({right, "ETag: \"v2\""});
  check({right});
  check({right, "Last-Modified: Sat, 01 Jan 2000 00:00:00 GMT"});
  check({"Content-Range: bytes 100-1099/9000", "ETag: \"v1\""});
}

TEST_CASE("remote: where there is no ETag, Last-Modified tells versions apart") {
  const auto bytes = bytes_of(10'000);
  HttpServer server([&](const Request& request, int number) {
    auto reply = HttpServer::range_of(bytes, request);
    reply.headers.back() = number < 2 ? "last-modified: then" : "last-modified: now";
    return reply;
  });
  const RemoteFile file(server.url("a.tar"), quick_access());
  CHECK(read(file, 0, 10) == bytes.substr(0, 10));
  check_text(failure_of<RemoteError>([&] { read(file, 0, 10); }), "changed on the server");
}

TEST_CASE("remote: redirects are followed, but not for ever and not to files") {
  const auto bytes = bytes_of(10'000);
  HttpServer server([&](const Request& request, int) {
    if (request.target == "/old.tar") return Reply{.status = 302, .headers = {"Location: /new.tar", "ETag: \"x\""}};
    if (request.target == "/loop.tar") return Reply{.status = 302, .headers = {"Location: /loop.tar"}};
    if (request.target == "/file.tar") return Reply{.status = 302, .headers = {"Location: file:///etc/passwd"}};
    return HttpServer::range_of(bytes, request);
  });
  const RemoteFile file(server.url("old.tar"), quick_access());
  CHECK(read(file, 5'000, 100) == bytes.substr(5'000, 100));
  const auto before = server.requests().size();
  check_text(failure_of<RemoteError>([&] { RemoteFile(server.url("loop.tar"), quick_access()); }),
             "redirects more than 5 times", "final address");
  CHECK(server.requests().size() == before + 6);
  check_text(failure_of<RemoteError>([&] { RemoteFile(server.url("file.tar"), quick_access()); }), "Protocol \"file\"");
  CHECK(server.requests().size() == before + 7);
}

TEST_CASE("remote: no server, no file, an empty file") {
  std::string nobody;
  {
    HttpServer server([](const Request&, int) { return Reply{}; });
    nobody = server.url("a.tar");
  }
  check_text(failure_of<RemoteError>([&] { RemoteFile(nobody, quick_access()); }), ", after 4 tries", "server is up");
  HttpServer server([](const Request& request, int) { return HttpServer::range_of("", request); });
  check_text(failure_of<RemoteError>([&] { RemoteFile(server.url("a.tar"), quick_access()); }), "the file is empty");
}

TEST_CASE("remote: names in messages hold no secrets") {
  CHECK(public_name("https://me:word@host/a/b@c.tar?token=x#y") == "https://host/a/b@c.tar");
  CHECK(public_name("http://host?x=@") == "http://host");
  CHECK(public_name("s3://bucket/a?b.tar") == "s3://bucket/a?b.tar");
  CHECK(is_remote("s3://b/k"));
  CHECK(is_remote("http://h/k"));
  CHECK_FALSE(is_remote("data/http://h"));
}

TEST_CASE("s3: a bucket's address") {
  for (const char* name : {"AWS_ENDPOINT_URL", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ACCESS_KEY_ID"}) unsetenv(name);
  CHECK(locate("s3://bucket/dir/a b+ü.tar").url == "https://bucket.s3.us-east-1.amazonaws.com/dir/a%20b%2B%C3%BC.tar");
  const Environment region(Environment::Values{{"AWS_REGION", "eu-west-3"}});
  CHECK(locate("s3://my.bucket/a.tar").url == "https://s3.eu-west-3.amazonaws.com/my.bucket/a.tar");
  const Environment endpoint(Environment::Values{{"AWS_ENDPOINT_URL", "http://host:9000/"}});
  CHECK(locate("s3://bucket/a.tar").url == "http://host:9000/bucket/a.tar");
  for (const char* wrong : {"s3://", "s3://bucket", "s3://bucket/", "s3:///key", "s3://a:b/key"})
    check_text(failure_of<RemoteError>([&] { locate(wrong); }), "not a path of S3", "s3://bucket/key.tar");
  const Environment half(Environment::Values{{"AWS_ACCESS_KEY_ID", "id"}});
  check_text(failure_of<RemoteError>([&] { locate("s3://bucket/a.tar"); }), "but not AWS_SECRET_ACCESS_KEY");
}

TEST_CASE("s3: requests are signed where there are credentials") {
  const auto bytes = bytes_of(1'000);
  HttpServer server([&](const Request& request, int) { return HttpServer::range_of(bytes, request); });
  const Environment place(Environment::Values{{"AWS_ENDPOINT_URL", server.url()}, {"AWS_REGION", "eu-west-3"}});
  const RemoteFile open("s3://bucket/a.tar", quick_access());
  const Environment login(
      Environment::Values{{"AWS_ACCESS_KEY_ID", "ID"}, {"AWS_SECRET_ACCESS_KEY", "word"}, {"AWS_SESSION_TOKEN", "t"}});
  const RemoteFile closed("s3://bucket/a.tar", quick_access());
  CHECK(read(closed, 10, 10) == bytes.substr(10, 10));
  const auto requests = server.requests();
  REQUIRE(requests.size() == 3);
  CHECK(requests[0].target == "/bucket/a.tar");
  CHECK(requests[0].header("authorization").empty());
  for (const auto& request : {requests[1], requests[2]}) {
    const auto authorization = request.header("authorization");
    CAPTURE(authorization);
    CHECK(authorization.starts_with("AWS4-HMAC-SHA256 Credential=ID/"));
    CHECK(authorization.find("/eu-west-3/s3/aws4_request") != authorization.npos);
    for (const char* header : {"host", "x-amz-content-sha256", "x-amz-date", "x-amz-security-token"})
      CHECK(authorization.find(header, authorization.find("SignedHeaders=")) != authorization.npos);
    CHECK(authorization.find("Signature=") != authorization.npos);
    CHECK(request.header("x-amz-security-token") == "t");
    CHECK_FALSE(request.header("x-amz-date").empty());
  }
}

TEST_CASE("s3: errors name the code, and what to do") {
  Reply reply;
  HttpServer server([&](const Request&, int) { return reply; });
  const Environment place(Environment::Values{{"AWS_ENDPOINT_URL", server.url()}});
  const auto error = [&](int status, const std::string& code) {
    reply = {.status = status, .body = "<?xml version=\"1.0\"?>\n<Error><Code>" + code + "</Code></Error>"};
    return failure_of<RemoteError>([&] { RemoteFile("s3://bucket/a.tar", quick_access(0)); });
  };
  check_text(error(403, "AccessDenied"), "status 403 (AccessDenied) (requested: " + server.url("bucket/a.tar") + ")",
             "set AWS_ACCESS_KEY_ID");
  check_text(error(404, "NoSuchBucket"), "(NoSuchBucket)", "check the name");
  check_text(error(301, "PermanentRedirect"), "(PermanentRedirect)", "set AWS_REGION");
  check_text(error(503, "SlowDown"), "(SlowDown)");
  check_text(error(403, "<b>\x1b[0m"), "status 403 (access denied)");
  const Environment login(Environment::Values{{"AWS_ACCESS_KEY_ID", "ID"}, {"AWS_SECRET_ACCESS_KEY", "word"}});
  check_text(error(403, "InvalidAccessKeyId"), "(InvalidAccessKeyId)", "check AWS_ACCESS_KEY_ID");
  check_text(error(400, "ExpiredToken"), "(ExpiredToken)", "get new credentials");
  check_text(error(403, "RequestTimeTooSkewed"), "(RequestTimeTooSkewed)", "clock");
}

TEST_CASE("remote: small reads in a row become few large ones") {
  const auto bytes = bytes_of(12 << 20);
  HttpServer server([&](const Request& request, int) { return HttpServer::range_of(bytes, request); });
  const RemoteFile file(server.url("a.tar"), quick_access());
  const ScanWindow window(file);
  bool right = true;
  for (std::size_t at = 0; at < bytes.size(); at += 5'000) right &= read(window, at, 512) == bytes.substr(at, 512);
  CHECK(right);
  CHECK(server.requests().size() == 1 + 5);  // 1, 2, 4, 4 MiB and the rest
  const ScanWindow far(file);
  for (std::size_t at = 0; at < bytes.size(); at += 3 << 20) right &= read(far, at, 512) == bytes.substr(at, 512);
  CHECK(right);
  const auto requests = server.requests();
  REQUIRE(requests.size() == 6 + 4);
  for (std::size_t i = 6; i < 10; ++i) CHECK(requests[i].last - requests[i].first + 1 == 1 << 20);
  CHECK(read(window, bytes.size() - 10, 512) == bytes.substr(bytes.size() - 10));
  CHECK(read(window, bytes.size(), 512).empty());
}

}  // namespace
}  // namespace flowtrain::remote_test
