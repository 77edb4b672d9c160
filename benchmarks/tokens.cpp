// Measures how fast a tokenizer encodes a file, one document a line or the whole file at once.
//   bench_tokens TOKENIZER FILE [PATTERN] [--ids OUT]    --ids: write the ids as u32 and check the way back

#include <cstdio>
#include <ctime>
#include <fstream>
#include <iostream>
#include <iterator>

#include "sampling/core/error.h"
#include "sampling/tokens/tokenizer.h"

namespace {

using namespace flowtrain;

double seconds_of(const auto& body) {
  const auto begin = std::clock();  // CPU time: that of one core, whatever else runs
  body();
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

void write_ids(const std::vector<std::uint32_t>& ids, const std::string& path) {
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(ids.data()), 4 * std::ssize(ids));
}

int run(const std::vector<std::string>& words) {
  if (words.size() < 2) {
    std::cerr << "usage: bench_tokens TOKENIZER FILE [PATTERN] [--ids OUT]\n";
    return 2;
  }
  std::string pattern, out;
  for (std::size_t i = 2; i < words.size(); ++i)
    if (words[i] == "--ids" && i + 1 < words.size())
      out = words[++i];
    else
      pattern = words[i];
  std::ifstream stream(words[1], std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(stream)), {});
  std::unique_ptr<Tokenizer> tokenizer;
  const double opening = seconds_of([&] { tokenizer = open_tokenizer(words[0], pattern); });
  std::vector<std::uint32_t> ids;
  const double first = seconds_of([&] { tokenizer->encode(text, ids); });
  const std::size_t count = ids.size();
  if (!out.empty()) {
    write_ids(ids, out);
    const std::string back = tokenizer->decode(ids);
    std::printf("decoded: %s\n", back == text ? "the same bytes" : "other bytes");
  }
  double best = first;
  for (int i = 0; i < 4; ++i) {
    ids.clear();
    best = std::min(best, seconds_of([&] { tokenizer->encode(text, ids); }));
  }
  const double mb = static_cast<double>(text.size()) / 1e6;
  std::printf("%.1f MB, %zu ids; opened in %.3f s; %.1f MB/s at first, %.1f MB/s warm\n", mb, count, opening,
              mb / first, mb / best);
  return 0;
}

}  // namespace

int main(int count, char** words) {
  try {
    return run({words + 1, words + count});
  } catch (const flowtrain::UserError& error) {
    std::cerr << error.what() << '\n';
    return static_cast<int>(error.code());
  }
}
