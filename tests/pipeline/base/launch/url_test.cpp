#include "pipeline/base/launch/url.h"

#include <doctest/doctest.h>

#include <string>

#include "tests/pipeline/base/launch/expect_error.h"

namespace flowtrain::url_test {

using namespace flowtrain::testing;

TEST_CASE("hosts, ports and files of --dist-url") {
  auto point = parse_dist_url("tcp://node1.example.org:29500");
  CHECK(point.host == "node1.example.org");
  CHECK(point.port == 29500);
  CHECK(point.file.empty());
  CHECK(parse_dist_url("tcp://10.0.0.1:1").port == 1);
  CHECK(parse_dist_url("tcp://h:65535").port == 65535);
  point = parse_dist_url("tcp://[fe80::1]:80");
  CHECK(point.host == "fe80::1");
  CHECK(point.port == 80);
  point = parse_dist_url("file:///shared/meet");
  CHECK(point.file == "/shared/meet");
  CHECK(point.host.empty());

  CHECK(tcp_url("node1", 80) == "tcp://node1:80");
  CHECK(tcp_url("fe80::1", 80) == "tcp://[fe80::1]:80");
  CHECK(tcp_url("[fe80::1]", 80) == "tcp://[fe80::1]:80");
}

TEST_CASE("what is no --dist-url is refused") {
  const struct {
    const char* url;
    const char* what;
  } cases[] = {
      {"node1:29500", "expected tcp:// or file:// or env://"},
      {"http://node1:80", "expected tcp:// or file:// or env://"},
      {"env://x", "expected tcp:// or file:// or env://"},
      {"tcp://", "no port"},
      {"tcp://node1", "no port"},
      {"tcp://[::1]", "no port"},
      {"tcp://:80", "no host"},
      {"tcp://[]:80", "no host"},
      {"tcp://::1:80", "bad host name"},
      {"tcp://a b:80", "bad host name"},
      {"tcp://user@node1:80", "bad host name"},
      {"tcp://node1:", "the port must be a number from 1 to 65535"},
      {"tcp://node1:0", "the port must be a number from 1 to 65535"},
      {"tcp://node1:-1", "the port must be a number from 1 to 65535"},
      {"tcp://node1:65536", "the port must be a number from 1 to 65535"},
      {"tcp://node1:80/", "the port must be a number from 1 to 65535"},
      {"tcp://node1:99999999999", "the port must be a number from 1 to 65535"},
      {"file://meet", "expected an absolute path, as file:///path"},
      {"file:///", "expected an absolute path, as file:///path"},
  };
  for (const auto& [url, what] : cases) {
    expect_error(ExitCode::usage, "--dist-url " + std::string(url) + ": " + what, [&] { parse_dist_url(url); });
  }
}

}  // namespace flowtrain::url_test
