#include "pipeline/base/http/request_head.h"

#include <doctest/doctest.h>

#include "pipeline/base/http/host.h"
#include "pipeline/runs/serve/access.h"

namespace flowtrain::request_head_test {

using namespace flowtrain::http;
using namespace flowtrain::serve;

namespace {

int status_of(const std::string& text) {
  RequestHead head;
  const auto refusal = parse_head(text, head);
  return refusal ? refusal->status : 200;
}

const std::string host = "Host: localhost\r\n";

}  // namespace

TEST_CASE("a head has a method, a target and the headers that matter") {
  RequestHead head;
  REQUIRE(!parse_head("GET /run/a/?x=1 HTTP/1.1\r\nHost: localhost:8700\r\nX-Other: 1\r\nCOOKIE:  a=b; c=d \r\n\r\n",
                      head));
  CHECK(head.method == "GET");
  CHECK(head.target == "/run/a/?x=1");
  CHECK(head.headers.size() == 2);
  CHECK(head.headers.at("host") == "localhost:8700");
  CHECK(head.headers.at("cookie") == "a=b; c=d");
  CHECK(status_of("HEAD / HTTP/1.0\r\n\r\n") == 200);
}

TEST_CASE("heads that are refused") {
  CHECK(status_of("GET / HTTP/1.1\r\n\r\n") == 400);  // no host
  CHECK(status_of("GET / HTTP/1.1\r\n" + host + host + "\r\n") == 400);
  CHECK(status_of("GET / HTTP/1.1\n" + host + "\r\n") == 400);
  CHECK(status_of("GET  / HTTP/1.1\r\n" + host + "\r\n") == 400);
  CHECK(status_of("GET / HTTP/1.1 x\r\n" + host + "\r\n") == 400);
  CHECK(status_of("GET /\r\n" + host + "\r\n") == 400);
  CHECK(status_of("GET / SPDY\r\n" + host + "\r\n") == 400);
  CHECK(status_of("GET / HTTP/2.0\r\n" + host + "\r\n") == 505);
  CHECK(status_of("GET http://localhost/ HTTP/1.1\r\n" + host + "\r\n") == 400);
  CHECK(status_of("GET * HTTP/1.1\r\n" + host + "\r\n") == 400);
  CHECK(status_of("GET /\x01 HTTP/1.1\r\n" + host + "\r\n") == 400);
  CHECK(status_of("GET /\xC3\xA9 HTTP/1.1\r\n" + host + "\r\n") == 400);
  CHECK(status_of("GET /" + std::string(most_target_bytes, 'a') + " HTTP/1.1\r\n" + host + "\r\n") == 414);
  for (const std::string method : {"POST", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PATCH", "get", "PRI"})
    CHECK(status_of(method + " / HTTP/1.1\r\n" + host + "\r\n") == 405);
  CHECK(status_of("G(T / HTTP/1.1\r\n" + host + "\r\n") == 400);
  CHECK(status_of("GET / HTTP/1.1\r\n" + host + "Content-Length: 5\r\n\r\n") == 413);
  CHECK(status_of("GET / HTTP/1.1\r\n" + host + "Content-Length: 0\r\n\r\n") == 200);
  CHECK(status_of("GET / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n") == 413);
  CHECK(status_of("GET / HTTP/1.1\r\n" + host + "Expect: 100-continue\r\n\r\n") == 417);
  CHECK(status_of("GET / HTTP/1.1\r\n" + host + "X: a\r\n continued\r\n\r\n") == 400);
  CHECK(status_of("GET / HTTP/1.1\r\n" + host + "X : a\r\n\r\n") == 400);
  CHECK(status_of("GET / HTTP/1.1\r\n" + host + "no colon\r\n\r\n") == 400);
  CHECK(status_of("GET / HTTP/1.1\r\n" + host + "X: a\x02\r\n\r\n") == 400);
  std::string many = "GET / HTTP/1.1\r\n" + host;
  for (std::size_t i = 0; i < most_header_lines; ++i) many += "X: a\r\n";
  CHECK(status_of(many + "\r\n") == 431);
}

TEST_CASE("targets are decoded once, and none leads out") {
  const auto target = parse_target("/run/a%20b/x.png?run=lenet%2Fone&x=1+2&empty");
  REQUIRE(target);
  CHECK(target->path == std::vector<std::string>{"run", "a b", "x.png"});
  CHECK(target->value("run") == "lenet/one");
  CHECK(target->value("x") == "1 2");
  CHECK(target->value("none").empty());
  CHECK(parse_target("/")->path == std::vector<std::string>{""});
  CHECK(parse_target("/run/a/")->path == std::vector<std::string>{"run", "a", ""});
  CHECK(parse_target("/%252e%252e/x")->path[0] == "%2e%2e");
  for (const char* wrong : {"/..",       "/../x",   "/run/../../etc/passwd",
                            "/%2e%2e/x", "/.%2e/x", "/.",
                            "/a/./b",    "//a",     "/a//b",
                            "/a%2fb",    "/a%2Fb",  "/a\\b",
                            "/a%5cb",    "/a%00",   "/%0d%0aX:1",
                            "/%",        "/%1",     "/%zz",
                            "/%-1",      "/a%7f",   "/x?a=%",
                            "/x?a=%0a"})
    CHECK_MESSAGE(!parse_target(wrong), std::string(wrong));
}

TEST_CASE("hosts of this server, and others") {
  for (const char* own : {"localhost", "localhost:8700", "LOCALHOST", "127.0.0.1:9000", "[::1]:8700", "192.168.1.7",
                          "trainer.lan:8700", "Trainer.LAN"})
    CHECK_MESSAGE(is_own_host(own, "trainer.lan"), std::string(own));
  for (const char* other :
       {"", ":8700", "example.com", "localhost.example.com", "127.0.0.1.example.com", "localhost:x", "localhost:8700:1",
        "[::1", "[::1]x", "localhost@example.com", "localhost:99999999", "0x7f.1"})
    CHECK_MESSAGE(!is_own_host(other, "trainer.lan"), std::string(other));
  CHECK(is_loopback("127.0.0.1"));
  CHECK(is_loopback("127.1.2.3"));
  CHECK(is_loopback("::1"));
  CHECK(!is_loopback("0.0.0.0"));
  CHECK(!is_loopback("127.example.com"));
}

TEST_CASE("tokens") {
  CHECK(random_token().size() == 32);
  CHECK(random_token() != random_token());
  CHECK(equal_in_constant_time("abc", "abc"));
  CHECK(!equal_in_constant_time("abc", "abd"));
  CHECK(!equal_in_constant_time("abc", "abcd"));
  const auto has = [](const std::string& name, const std::string& value) {
    return has_token({"GET", "/", {{name, value}}}, "flowtrain_1", "secret");
  };
  CHECK(has("cookie", "flowtrain_1=secret"));
  CHECK(has("cookie", "a=b; flowtrain_1=secret"));
  CHECK(has("authorization", "Bearer secret"));
  CHECK(!has("cookie", "flowtrain_2=secret"));
  CHECK(!has("cookie", "flowtrain_1=secret2"));
  CHECK(!has("cookie", "flowtrain_1="));
  CHECK(!has("cookie", "secret"));
  CHECK(!has("authorization", "Basic secret"));
}

}  // namespace flowtrain::request_head_test
