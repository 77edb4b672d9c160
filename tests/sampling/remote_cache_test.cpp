#include <doctest/doctest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "sampling/core/error.h"
#include "sampling/core/warning.h"
#include "sampling/remote/remote.h"
#include "tests/support/failure_helper.h"
#include "tests/support/http_server.h"
#include "tests/support/settings_helper.h"
#include "tests/support/temp_folder.h"

namespace flowtrain::remote_cache_test {
namespace {

namespace fs = std::filesystem;
using Request = HttpServer::Request;

std::string text_of(char letter, std::size_t count) { return std::string(count, letter); }

void write(const DiskCache& cache, const std::string& key, const std::string& text) {
  cache.write(key, std::as_bytes(std::span(text)));
}

std::string read(const DiskCache& cache, const std::string& key, std::uint64_t offset, std::size_t count) {
  std::string text(count, '?');
  return cache.read(key, offset, std::as_writable_bytes(std::span(text))) ? text : "none";
}

std::string read(const ByteSource& file, std::uint64_t offset, std::size_t count) {
  std::string bytes(count, '\0');
  bytes.resize(file.read_at(offset, std::as_writable_bytes(std::span(bytes))));
  return bytes;
}

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  return files;
}

std::uint64_t bytes_in(const fs::path& folder) {
  std::uint64_t bytes = 0;
  for (const auto& file : files_in(folder)) bytes += fs::file_size(file);
  return bytes;
}

void change_byte(const fs::path& file, std::uint64_t at) {
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekg(static_cast<std::streamoff>(at));
  const auto byte = static_cast<char>(stream.get() ^ 1);
  stream.seekp(static_cast<std::streamoff>(at));
  stream.put(byte);
}

std::shared_ptr<const RemoteAccess> cached_access(const fs::path& folder) {
  return std::make_shared<const RemoteAccess>(HttpClient::Patience{.retries = 0},
                                              std::make_unique<DiskCache>(folder, 1 << 30));
}

/// A file of three and a half blocks.
std::string file_bytes() {
  std::string bytes(RemoteFile::block_bytes * 7 / 2, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 31 + (i >> 13));
  return bytes;
}

TEST_CASE("disk cache: what is written is read, in whole and in part") {
  TempFolder temp;
  const DiskCache cache(temp.path() / "new" / "folder", 1 << 30);
  CHECK_FALSE(cache.has("a"));
  CHECK(read(cache, "a", 0, 1) == "none");
  CHECK_FALSE(cache.read_all("a"));
  const auto text = text_of('a', 70'000) + text_of('b', 70'000);
  write(cache, "a", text);
  write(cache, "empty", "");
  CHECK(cache.has("a"));
  CHECK(read(cache, "a", 0, 140'000) == text);
  CHECK(read(cache, "a", 69'999, 2) == "ab");
  CHECK(read(cache, "a", 139'999, 1) == "b");
  CHECK(read(cache, "a", 139'999, 2) == "none");
  CHECK(cache.read_all("empty")->empty());
  const DiskCache other(temp.path() / "new" / "folder", 1 << 30);
  CHECK(read(other, "a", 65'000, 1'000) == text_of('a', 1'000));
  for (const auto& file : files_in(temp.path() / "new" / "folder")) CHECK(file.extension() == ".piece");
}

TEST_CASE("disk cache: damage is found, and the piece removed") {
  TempFolder temp;
  const DiskCache cache(temp.path(), 1 << 30);
  const auto text = text_of('a', 100'000);
  const auto check_damage = [&](const std::function<void(const fs::path&)>& damage) {
    write(cache, "a", text);
    REQUIRE(read(cache, "a", 0, 100'000) == text);
    damage(files_in(temp.path()).front());
    CHECK(read(cache, "a", 0, 100'000) == "none");
    CHECK(files_in(temp.path()).empty());
  };
  for (const std::uint64_t at : {0, 8, 16, 24, 32, 40, 50'000, 100'000})
    check_damage([&](const fs::path& file) { change_byte(file, at); });
  for (const std::uint64_t size : {0, 10, 24, 40, 60'000, 100'039, 100'041})
    check_damage([&](const fs::path& file) { fs::resize_file(file, size); });
  write(cache, "a", text);
  write(cache, "b", text_of('b', 100'000));
  const auto files = files_in(temp.path());
  fs::copy_file(files[0], files[1], fs::copy_options::overwrite_existing);  // right in itself, under a wrong name
  CHECK((cache.read_all("a").has_value() ^ cache.read_all("b").has_value()));
}

TEST_CASE("disk cache: the least recently used pieces make room") {
  TempFolder temp;
  constexpr std::uint64_t limit = 1 << 20;
  const DiskCache cache(temp.path(), limit);
  const auto text = text_of('x', 100'000);
  temp.write("notes.txt", "not ours");
  temp.write(".new-lost", text);
  const auto now = fs::file_time_type::clock::now();
  fs::last_write_time(temp.path() / ".new-lost", now - std::chrono::hours(2));
  for (int i = 0; i < 10; ++i) write(cache, std::to_string(i), text);
  for (int i = 0; i < 10; ++i) CHECK(cache.has(std::to_string(i)));
  for (const auto& file : files_in(temp.path()))
    if (file.extension() == ".piece") fs::last_write_time(file, now - std::chrono::hours(2));
  CHECK(read(cache, "3", 0, 1) == "x");  // used now, the others hours ago
  write(cache, "new", text);
  CHECK(cache.has("3"));
  CHECK(cache.has("new"));
  CHECK(bytes_in(temp.path()) <= limit);
  CHECK(fs::exists(temp.path() / "notes.txt"));
  CHECK_FALSE(fs::exists(temp.path() / ".new-lost"));
  for (int i = 0; i < 100; ++i) {
    write(cache, "more " + std::to_string(i), text);
    REQUIRE(bytes_in(temp.path()) <= limit);
    REQUIRE(cache.has("more " + std::to_string(i)));
  }
  write(cache, "too large", text_of('y', 2 << 20));
  CHECK_FALSE(cache.has("too large"));
}

TEST_CASE("disk cache: a folder that cannot be written is the user's error") {
  TempFolder temp;
  temp.write("file", "");
  const auto failure = failure_of([&] {
    remote_access(settings_for(remote_keys(), {{"cache", (temp.path() / "file" / "below").string()}}));
  });
  check_failure(failure, ExitCode::data, "data.cache: cannot write to the folder");
}

TEST_CASE("remote cache: blocks are fetched once") {
  TempFolder temp;
  const auto bytes = file_bytes();
  HttpServer server([&](const Request& request, int) { return HttpServer::range_of(bytes, request); });
  {
    const RemoteFile file(server.url("a.tar"), cached_access(temp.path()));
    CHECK(read(file, 100, 10) == bytes.substr(100, 10));
    CHECK(read(file, 5'000, 9'000) == bytes.substr(5'000, 9'000));
    REQUIRE(server.requests().size() == 2);  // the version, the first block
    CHECK(server.requests()[1].header("range") == "bytes=0-1048575");
    CHECK(read(file, 0, bytes.size()) == bytes);  // the others in one request
    REQUIRE(server.requests().size() == 3);
    CHECK(server.requests()[2].header("range") == "bytes=1048576-3670015");
  }
  const RemoteFile again(server.url("a.tar"), cached_access(temp.path()));
  CHECK(read(again, 0, bytes.size()) == bytes);
  CHECK(server.requests().size() == 4);  // the version
}

TEST_CASE("remote cache: a damaged block is fetched again") {
  TempFolder temp;
  const auto bytes = file_bytes();
  HttpServer server([&](const Request& request, int) { return HttpServer::range_of(bytes, request); });
  const RemoteFile file(server.url("a.tar"), cached_access(temp.path()));
  CHECK(read(file, 0, bytes.size()) == bytes);
  const auto files = files_in(temp.path());
  REQUIRE(files.size() == 4);
  change_byte(files[0], fs::file_size(files[0]) / 2);
  fs::resize_file(files[1], fs::file_size(files[1]) - 1);
  const auto before = server.requests().size();
  CHECK(read(file, 0, bytes.size()) == bytes);
  const auto fetched = server.requests().size();
  CHECK(fetched > before);
  CHECK(fetched <= before + 2);
  CHECK(read(file, 0, bytes.size()) == bytes);
  CHECK(server.requests().size() == fetched);
}

TEST_CASE("remote cache: another version of the file has blocks of its own") {
  TempFolder temp;
  auto bytes = file_bytes();
  std::string tag = "\"v1\"";
  HttpServer server([&](const Request& request, int) { return HttpServer::range_of(bytes, request, tag); });
  const RemoteFile first(server.url("a.tar"), cached_access(temp.path()));
  CHECK(read(first, 0, 100) == bytes.substr(0, 100));
  first.keep("note", std::as_bytes(std::span("ab", 2)));
  CHECK(first.recall("note")->size() == 2);
  bytes[10] = '!';
  tag = "\"v2\"";
  const RemoteFile second(server.url("a.tar"), cached_access(temp.path()));
  CHECK(read(second, 0, 100) == bytes.substr(0, 100));
  CHECK_FALSE(second.recall("note"));
  CHECK(failure_of<RemoteError>([&] { read(first, 2 << 20, 10); }).what() ==
        std::string("the file was changed on the server since the start"));
}

TEST_CASE("remote cache: where a server names no version, what is kept counts for one start alone") {
  TempFolder temp;
  auto bytes = file_bytes();
  HttpServer server([&](const Request& request, int) {
    auto reply = HttpServer::range_of(bytes, request);
    std::erase_if(reply.headers, [](auto& header) { return header.starts_with("ETag"); });
    return reply;
  });
  static std::vector<std::string> warnings;
  warnings.clear();
  set_warning_sink([](const std::string& text) { warnings.push_back(text); });
  const auto access = cached_access(temp.path());
  const RemoteFile first(server.url("a.tar"), access), same_start(server.url("a.tar"), access);
  set_warning_sink(nullptr);
  CHECK(read(first, 0, 100) == bytes.substr(0, 100));
  const auto fetched = server.requests().size();
  CHECK(read(same_start, 0, 100) == bytes.substr(0, 100));
  CHECK(server.requests().size() == fetched);
  first.keep("note", std::as_bytes(std::span("ab", 2)));
  bytes[10] = '!';
  const RemoteFile next_start(server.url("a.tar"), cached_access(temp.path()));
  CHECK(read(next_start, 0, 100) == bytes.substr(0, 100));
  CHECK_FALSE(next_start.recall("note"));
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].find("the server names no version of its files") != std::string::npos);
}

TEST_CASE("remote cache: threads that want one block wait for one request") {
  TempFolder temp;
  const auto bytes = file_bytes();
  HttpServer server([&](const Request& request, int) { return HttpServer::range_of(bytes, request); });
  const RemoteFile file(server.url("a.tar"), cached_access(temp.path()));
  std::atomic<int> wrong = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i)
      threads.emplace_back([&] {
        for (std::size_t at = 0; at < bytes.size(); at += 500'000)
          wrong += read(file, at, 100'000) != bytes.substr(at, 100'000);
      });
  }
  CHECK(wrong == 0);
  std::uint64_t fetched = 0;
  for (const auto& request : server.requests()) fetched += request.last - request.first + 1;
  CHECK(fetched == 1 + bytes.size());  // the version's byte
}

TEST_CASE("remote cache: a failed fetch is handed to nobody, and the next one tries again") {
  TempFolder temp;
  const auto bytes = file_bytes();
  HttpServer server([&](const Request& request, int number) {
    return number == 1 ? HttpServer::Reply{.status = 500} : HttpServer::range_of(bytes, request);
  });
  const RemoteFile file(server.url("a.tar"), cached_access(temp.path()));
  failure_of<RemoteError>([&] { read(file, 0, 10); });
  CHECK(files_in(temp.path()).empty());
  CHECK(read(file, 0, 10) == bytes.substr(0, 10));
}

}  // namespace
}  // namespace flowtrain::remote_cache_test
