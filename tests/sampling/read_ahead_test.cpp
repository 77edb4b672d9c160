#include <doctest/doctest.h>

#include <atomic>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "sampling/core/mutex.h"
#include "sampling/core/reads_until.h"
#include "sampling/core/warning.h"
#include "sampling/remote/remote.h"
#include "tests/support/failure_helper.h"
#include "tests/support/http_server.h"
#include "tests/support/temp_folder.h"

namespace flowtrain::read_ahead_test {
namespace {

using namespace std::chrono_literals;
using Reply = HttpServer::Reply;
using Request = HttpServer::Request;

/// A file of a server that `change` makes answer otherwise, read with a read-ahead.
struct Remote {
  using Change = std::function<void(const Request&, int, Reply&)>;

  explicit Remote(std::size_t size, std::size_t requests = 8, Change change = {},
                  HttpClient::Patience patience = quick(), std::unique_ptr<DiskCache> cache = nullptr)
      : bytes(bytes_of(size)),
        server([this, change = std::move(change)](const Request& request, int number) {
          auto reply = HttpServer::range_of(bytes, request);
          if (change && number > 0) change(request, number, reply);
          return reply;
        }),
        access(std::make_shared<const RemoteAccess>(patience, std::move(cache), requests)),
        file(server.url("a.tar"), access) {}

  static HttpClient::Patience quick() { return {.retries = 3, .timeout = 30s, .first_delay = 1ms}; }

  std::string read(std::uint64_t offset, std::size_t count) const {
    std::string got(count, '\0');
    got.resize(file.read_at(offset, std::as_writable_bytes(std::span(got))));
    return got;
  }
  bool right(std::uint64_t offset, std::size_t count) const {
    return read(offset, count) == bytes.substr(offset, count);
  }
  std::vector<Request> requests() const {
    auto all = server.requests();
    all.erase(all.begin());  // for the version
    return all;
  }
  std::uint64_t retries() const { return access->outages.retries(); }

  std::string bytes;
  HttpServer server;
  std::shared_ptr<const RemoteAccess> access;
  RemoteFile file;
};

TEST_CASE("read-ahead: what is expected close together is one request") {
  const Remote remote(10'000'000);
  for (int i = 9; i >= 0; --i) remote.file.expect(1'000'000 + i * 30'000, 5'000);
  remote.file.expect(5'000'000, 5'000);
  remote.file.begin(1'090'000, 5'000);
  CHECK(remote.right(1'090'000, 5'000));
  for (int i = 0; i < 10; ++i)
    if (i != 3) CHECK(remote.right(1'000'000 + i * 30'000, 5'000));
  REQUIRE(remote.requests().size() == 1);
  CHECK(remote.requests()[0].first == 1'000'000);
  CHECK(remote.requests()[0].last == 1'274'999);
  remote.file.begin(5'000'000, 5'000);
  CHECK(remote.right(5'000'000, 5'000));
  CHECK(remote.requests().size() == 2);
}

TEST_CASE("read-ahead: gaps and requests have a limit, and files do not mix") {
  const Remote remote(10'000'000), other(10'000'000);
  for (int i = 0; i < 60; ++i) remote.file.expect(i * 60'000, 60'000);  // 3.6 MB without a gap
  remote.file.expect(4'000'000, 1'000);
  remote.file.expect(4'000'000 + 1'000 + (32 << 10) + 1, 1'000);
  other.file.expect(4'001'000, 1'000);
  remote.file.begin(0, 60'000);
  remote.file.begin(4'000'000, 1'000);
  CHECK(remote.right(0, 60'000));
  CHECK(remote.right(4'000'000, 1'000));
  for (const auto& request : remote.requests()) {
    CHECK(request.last - request.first + 1 <= 1 << 20);
    if (request.first == 4'000'000) CHECK(request.last == 4'000'999);
  }
  CHECK(other.requests().empty());
}

TEST_CASE("read-ahead: what was only expected, or not at all, is read all the same") {
  const Remote remote(100'000);
  remote.file.expect(1'000, 1'000);
  CHECK(remote.right(1'000, 1'000));
  CHECK(remote.right(50'000, 1'000));
  remote.file.begin(60'000, 1'000);  // nobody expects it
  remote.file.expect(70'000, 0);
  remote.file.begin(70'000, 0);
  CHECK(remote.requests().size() == 2);
}

TEST_CASE("read-ahead: expected twice, read twice, fetched once") {
  const Remote remote(100'000);
  for (int i = 0; i < 2; ++i) remote.file.expect(1'000, 1'000);
  for (int i = 0; i < 2; ++i) remote.file.begin(1'000, 1'000);
  for (int i = 0; i < 2; ++i) CHECK(remote.right(1'000, 1'000));
  CHECK(remote.requests().size() == 1);
  CHECK(remote.right(1'000, 1'000));
  CHECK(remote.requests().size() == 2);
}

TEST_CASE("read-ahead: so many requests are under way at once, and no more, with one thread that reads") {
  std::atomic<int> arrived = 0;
  const auto two_have_arrived = [&] {
    ++arrived;
    arrived.notify_all();
    for (int now = arrived; now < 2; now = arrived) arrived.wait(now);
  };
  const Remote remote(10'000'000, 4, [&](const Request&, int, Reply& reply) { reply.before = two_have_arrived; });
  for (int i = 0; i < 16; ++i) remote.file.expect(i * 500'000, 1'000);
  for (int i = 0; i < 16; ++i) remote.file.begin(i * 500'000, 1'000);
  for (int i = 0; i < 16; ++i) CHECK(remote.right(i * 500'000, 1'000));
  CHECK(remote.server.most_at_once() >= 2);
  CHECK(remote.server.most_at_once() <= 4);
  CHECK(remote.requests().size() == 16);
}

TEST_CASE("read-ahead: many threads read what one expects") {
  const Remote remote(1'000'000);
  std::atomic<int> wrong = 0;
  for (int i = 0; i < 400; ++i) remote.file.expect((i * 7 % 400) * 2'500, 2'000);
  {
    std::vector<std::jthread> threads;
    threads.emplace_back([&] {
      for (int i = 0; i < 400; ++i) remote.file.begin(i * 2'500, 2'000);
    });
    for (int thread = 0; thread < 4; ++thread)
      threads.emplace_back([&, thread] {
        for (int i = thread; i < 400; i += 4) wrong += !remote.right(i * 2'500, 2'000);
      });
  }
  CHECK(wrong == 0);
}

TEST_CASE("read-ahead: after a fault that passes it goes on, and nothing is lost") {
  const Remote remote(1'000'000, 4,
                      [](const Request&, int number, Reply& reply) {
                        if (number % 3 == 1)
                          reply = {.status = 503};
                        else if (number % 3 == 2)
                          reply.cut = 100;
                      },
                      {.retries = 20, .timeout = 30s, .first_delay = 1ms});
  for (int i = 0; i < 10; ++i) remote.file.expect(i * 100'000, 1'000);
  for (int i = 0; i < 10; ++i) remote.file.begin(i * 100'000, 1'000);
  for (int i = 0; i < 10; ++i) CHECK(remote.right(i * 100'000, 1'000));
  CHECK(remote.retries() > 0);
}

TEST_CASE("read-ahead: what fails for good is the error of who reads it") {
  const Remote remote(1'000'000, 4, [](const Request&, int, Reply& reply) { reply = {.status = 404}; });
  remote.file.expect(1'000, 1'000);
  remote.file.begin(1'000, 1'000);
  const auto error = failure_of<RemoteError>([&] { remote.read(1'000, 1'000); });
  CHECK(std::string(error.what()).find("status 404") != std::string::npos);
  CHECK(remote.requests().size() == 2);
  CHECK(remote.retries() == 0);
  const Remote changed(1'000'000, 4, [](const Request&, int, Reply& reply) { reply.headers.back() = "ETag: \"v2\""; });
  changed.file.expect(1'000, 1'000);
  changed.file.begin(1'000, 1'000);
  const auto mixed = failure_of<RemoteError>([&] { changed.read(1'000, 1'000); });
  CHECK(std::string(mixed.what()).find("changed on the server") != std::string::npos);
}

TEST_CASE("read-ahead: with a cache, blocks are fetched once and kept") {
  const TempFolder folder;
  const Remote remote(5 << 20, 4, {}, Remote::quick(), std::make_unique<DiskCache>(folder.path(), 1 << 30));
  const auto announce = [&](std::uint64_t offset, std::uint64_t size) {
    remote.file.expect(offset, size);
    remote.file.begin(offset, size);
  };
  announce(100, 1'000);
  announce(5'000, 1'000);
  announce((1 << 20) - 500, 1'000);  // two blocks
  CHECK(remote.right(100, 1'000));
  CHECK(remote.right(5'000, 1'000));
  CHECK(remote.right((1 << 20) - 500, 1'000));
  const auto fetched = remote.requests();
  std::uint64_t sum = 0;
  for (const auto& request : fetched) sum += request.last - request.first + 1;
  CHECK(sum == 2 << 20);
  announce(2'000, 1'000);
  announce(1 << 20, 1'000);
  CHECK(remote.right(2'000, 1'000));
  CHECK(remote.right(1 << 20, 1'000));
  CHECK(remote.requests().size() == fetched.size());
}

TEST_CASE("read-ahead: whoever waits for a server is woken by the stop of its thread, and later reads are as before") {
  std::stop_source stop;
  const auto fails = [&](const Remote& remote, auto&& is_waiting) {
    const std::jthread other([&] {
      while (!is_waiting()) std::this_thread::sleep_for(1ms);
      stop.request_stop();
    });
    const ReadsUntil until(stop.get_token());
    const auto error = failure_of<RemoteError>([&] { remote.read(1'000, 1'000); });
    CHECK(std::string(error.what()) == "interrupted while waiting for the server");
  };
  std::atomic<bool> away = true;
  SUBCASE("for an answer") {
    const Remote remote(1'000'000, 4, [&](const Request&, int, Reply& reply) { reply.stall = away; });
    remote.file.expect(1'000, 1'000);
    remote.file.begin(1'000, 1'000);
    fails(remote, [&] { return !remote.requests().empty(); });
    away = false;
    CHECK(remote.right(5'000, 1'000));
  }
  SUBCASE("for the next try") {
    const Remote remote(1'000'000, 4,
                        [&](const Request&, int, Reply& reply) {
                          if (away) reply = {.status = 503};
                        },
                        {.retries = 100, .timeout = 30s, .first_delay = 24h});
    fails(remote, [&] { return remote.retries() > 0; });
    away = false;
    CHECK(remote.right(5'000, 1'000));
  }
}

Mutex warnings_mutex;
std::vector<std::string> warnings FT_GUARDED_BY(warnings_mutex);

std::vector<std::string> take_warnings() {
  const MutexLock lock(warnings_mutex);
  return std::exchange(warnings, {});
}

TEST_CASE("a server that fails is warned of once, and its retries are counted") {
  take_warnings();
  set_warning_sink([](const std::string& text) {
    const MutexLock lock(warnings_mutex);
    warnings.push_back(text);
  });
  const Remote remote(1'000'000, 0, [](const Request&, int number, Reply& reply) {
    if (number % 3 != 0) reply = {.status = 503};
  });
  for (int i = 0; i < 3; ++i) CHECK(remote.right(i * 1'000, 1'000));
  set_warning_sink(nullptr);
  CHECK(remote.retries() == 6);
  const auto reported = take_warnings();
  REQUIRE(reported.size() == 1);
  CHECK(reported[0] ==
        remote.server.url("a.tar") +
            ": the server answers with status 503 (unavailable); the request is repeated (requests repeated so "
            "far: 1)");
}

}  // namespace
}  // namespace flowtrain::read_ahead_test
