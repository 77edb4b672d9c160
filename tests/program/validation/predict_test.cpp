// flowtrain predict: what a snapshot's net says of pictures, as a table, CSV and JSON lines.

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <sstream>

#include "sampling/codecs/encode.h"
#include "tests/program/detector.h"
#include "tests/program/picture_files.h"
#include "tests/support/http_server.h"
#include "tests/support/tar_helper.h"

namespace flowtrain::predict_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// A noisy JPEG, whose size is its number's own.
std::string jpeg_of(int number) { return text_of(encode_jpeg(noise_picture(20 + number, 31 + 2 * number, 3))); }

constexpr int pictures = 21;  // which no batch divides

/// A run on JPEGs of two classes in pictures/, the same ones for training and validation; `more` words.
void train_on_jpegs(const TempRun& place, const Words& more = {}) {
  for (const std::string split : {"train", "val"})
    for (int i = 0; i < pictures; ++i)
      place.folder().write("pictures/" + split + (i % 2 ? "/cat/" : "/dog/") + std::to_string(10 + i) + ".jpg",
                           jpeg_of(i));
  REQUIRE_EXIT(place.train(with({"--run-dir", "run", "--set", "data.dataset=image_folder", "--set",
                                 "data.path=pictures", "--set", "sampler.size=16"},
                                more)),
               0);
}

std::vector<json> lines_of(const std::string& text) {
  std::vector<json> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(json::parse(line));
  return lines;
}

Outcome run_with_input(const TempRun& place, const Words& words, const std::string& input) {
  ProcessOptions options = place.process_options();
  options.input = place.folder().write("input.txt", input);
  return run_program(words, options);
}

/// The answers without the name of the file.
std::vector<json> nameless(std::vector<json> answers) {
  for (auto& answer : answers) answer.erase("file");
  return answers;
}

}  // namespace

TEST_CASE("predict gives validation's logits, bit for bit, and needs nothing but the snapshot") {
  const TempRun place(without_shapes());
  train_on_jpegs(place);
  const auto tested = place.run(
      with({"test", "run", "--iter", "60", "--set", "val.metrics=[\"logits_file\"]"}, opening({"logits_file"})));
  REQUIRE_EXIT(tested, 0);
  const std::string expected = read_text(place.path("logits.f32"));
  REQUIRE(expected.size() == pictures * 2 * sizeof(float));

  const TempRun elsewhere;
  fs::rename(fs::canonical(place.path("run/snapshots/latest")), elsewhere.path("net"));
  fs::rename(place.path("pictures/val"), elsewhere.path("new"));
  fs::remove_all(place.folder().path());
  for (const std::string workers : {"1", "3"}) {
    const auto outcome = elsewhere.run({"predict", "net", "new", "--jsonl", "--logits", "--workers", workers});
    REQUIRE_EXIT(outcome, 0);
    const auto answers = lines_of(outcome.out);
    REQUIRE(answers.size() == pictures);
    std::string logits;
    for (auto& answer : answers) {
      for (const float logit : answer.at("logits").get<std::vector<float>>())
        logits.append(reinterpret_cast<const char*>(&logit), sizeof logit);
      CHECK(answer.at("top").size() == 2);
      CHECK((answer.at("top")[0].at("class") == "cat") == (answer.at("top")[0].at("label") == 0));
      const double first = answer.at("top")[0].at("score"), second = answer.at("top")[1].at("score");
      CHECK(first >= second);
      CHECK(first + second == doctest::Approx(1));
    }
    CHECK(logits == expected);
    CHECK(logits.substr(0, 8) != logits.substr(8, 8));
    CHECK(answers.front().at("file") == "new/cat/11.jpg");
    CHECK_SAYS(outcome, "21 pictures in ");
    CHECK_SAYS(outcome, "; after the first 16: ");
  }
}

TEST_CASE("a net that learnt from pixels in memory sees files as it saw these") {
  const TempRun place;
  REQUIRE_EXIT(place.train({"--run-dir", "run", "--set", "val.pictures=12"}), 0);
  const auto folder = place.path("run/pictures/iter-00000060");
  const auto shown = json::parse(read_text(folder / "pictures.json")).at("samples");
  Words files;
  for (auto& sample : shown) files.push_back(folder / sample.at("file").get<std::string>());
  const auto outcome = place.run(with(with({"predict", "run", "--iter", "60"}, files), {"--jsonl", "--top", "1"}));
  REQUIRE_EXIT(outcome, 0);
  const auto answers = lines_of(outcome.out);
  REQUIRE(answers.size() == 12);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const auto& top = answers[i].at("top");
    REQUIRE(top.size() == 1);
    CHECK(top[0].at("class") == shown[i].at("prediction"));
    CHECK(top[0].at("score").get<double>() == doctest::Approx(shown[i].at("score").get<double>()).epsilon(1e-4));
  }
}

TEST_CASE("files, folders, patterns, lists, archives and addresses give the same predictions; all outputs agree") {
  const TempRun place(without_shapes());
  train_on_jpegs(place);
  TarBytes tar;
  std::vector<std::string> served;
  std::string list;
  for (int i = 0; i < 5; ++i) {
    const std::string name = std::to_string(i) + ".jpg";
    place.folder().write("new/" + name, jpeg_of(i));
    tar.entry("deep/" + name, jpeg_of(i)).entry("deep/" + name + ".txt", "a note");
    list += "new/" + name + "\n";
  }
  place.folder().write("new/.hidden.jpg", "hidden");
  place.folder().write("new/notes.txt", "no picture");
  const std::string archive = tar.end();
  place.folder().write("some.tar", archive);
  const HttpServer server([&](const HttpServer::Request& request, int) {
    if (request.target == "/some.tar?key=1") return HttpServer::range_of(archive, request);
    const int number = request.target[1] - '0';
    return number < 5 ? HttpServer::range_of(jpeg_of(number), request) : HttpServer::Reply{.status = 404};
  });

  const Words asked{"predict", "run", "--jsonl"};
  const auto plain = place.run(with(asked, {"new"}));
  REQUIRE_EXIT(plain, 0);
  const auto answers = lines_of(plain.out);
  REQUIRE(answers.size() == 5);
  const auto check_same = [&](const Outcome& outcome, const std::string& first_name) {
    REQUIRE_EXIT(outcome, 0);
    CHECK(nameless(lines_of(outcome.out)) == nameless(answers));
    CHECK(lines_of(outcome.out)[0].at("file") == first_name);
  };
  check_same(place.run(with(asked, {"new/0.jpg", "new/[1-9].jpg"})), "new/0.jpg");
  check_same(run_with_input(place, with(asked, {"-"}), list), "new/0.jpg");
  std::string of_windows = "\xef\xbb\xbf" + list;  // with a byte order mark and other line ends
  for (std::size_t at = 0; (at = of_windows.find('\n', at)) != std::string::npos; at += 2) of_windows.insert(at, "\r");
  check_same(run_with_input(place, with(asked, {"-"}), of_windows), "new/0.jpg");
  const auto wide = run_with_input(place, with(asked, {"-"}), std::string("\xff\xfen\0e\0w\0\n\0", 10));
  REQUIRE_EXIT(wide, 3);
  CHECK_SAYS(wide, "standard input: its first line is not UTF-8");
  check_same(place.run(with(asked, {"some.tar"})), "some.tar:deep/0.jpg");
  check_same(place.run(with(asked, {server.url("some.tar?key=1")})), server.url("some.tar?***") + ":deep/0.jpg");
  Words addresses;
  for (int i = 0; i < 5; ++i) addresses.push_back(server.url(std::to_string(i) + ".jpg"));
  check_same(place.run(with(asked, addresses)), addresses[0]);
  const auto gone = place.run(with(asked, {server.url("7.jpg"), "new"}));
  REQUIRE_EXIT(gone, 3);
  CHECK_SAYS(gone, "7.jpg: ");
  CHECK(lines_of(gone.out)[0].at("error").get<std::string>().find("404") != std::string::npos);

  const auto table = place.run({"predict", "run", "new", "--top", "1"});
  REQUIRE_EXIT(table, 0);
  REQUIRE_EXIT(place.run({"predict", "run", "new", "--csv", "out.csv", "--jsonl=out.jsonl"}), 0);
  CHECK(read_text(place.path("out.jsonl")) == plain.out);
  std::string csv = "file,rank,class,label,score,error\n", rows;
  for (auto& answer : answers) {
    const std::string file = answer.at("file");
    for (int rank = 0; rank < 2; ++rank) {
      const auto& top = answer.at("top")[rank];
      char score[32];
      std::snprintf(score, sizeof score, "%.6g", top.at("score").get<double>());
      csv += file + "," + std::to_string(rank + 1) + "," + top.at("class").get<std::string>() + "," +
             top.at("label").dump() + "," + score + ",\n";
      std::snprintf(score, sizeof score, " %.4f", top.at("score").get<double>());
      if (rank == 0) rows += file + "  " + top.at("class").get<std::string>() + score + "\n";
    }
  }
  CHECK(read_text(place.path("out.csv")) == csv);
  CHECK(table.out == rows);
}

TEST_CASE("damaged inputs are named and left out, and all others are predicted as without them") {
  const TempRun place(without_shapes());
  train_on_jpegs(place);
  const std::string jpeg = jpeg_of(4), png = text_of(encode_png(noise_picture(20, 20, 3).view()));
  const std::string webp = text_of(encode_webp(noise_picture(20, 20, 3), true));
  std::string vast = png, flipped = png;
  vast.replace(16, 8, std::string("\x00\x00\xff\xff\x00\x00\xff\xff", 8));
  flipped[png.size() / 2] = static_cast<char>(flipped[png.size() / 2] ^ 1);
  const Words good{"good/0.jpg", "good/1.jpg", "good/2.jpg"};
  for (auto& name : good) place.folder().write(name, jpeg_of(name[5] - '0'));
  const std::vector<std::pair<std::string, std::string>> damaged{
      {"empty.jpg", ""},
      {"text.jpg", "this is no picture"},
      {"half.jpg", jpeg.substr(0, jpeg.size() / 2)},
      {"head.jpg", jpeg.substr(0, 20)},
      {"mark.jpg", jpeg.substr(0, 2)},
      {"zeros.jpg", jpeg.substr(0, 100) + std::string(1000, '\0')},
      {"half.png", png.substr(0, png.size() / 2)},
      {"flipped.png", flipped},
      {"vast.png", vast},
      {"half.webp", webp.substr(0, webp.size() / 2)},
      {"gif.jpg", "GIF89a" + std::string(100, 'x')},
      {"bitmap.bmp", "BM" + std::string(100, 'x')},
      {"a\nline\x1b[31m.jpg", "control"},
      {"\xff\xfe.jpg", "no UTF-8"},
      {"cut.tar", TarBytes().entry("1.txt", "text").bytes().substr(0, 600)}};
  Words words{"predict", "run", "--jsonl"}, bad;
  for (auto& [name, bytes] : damaged) {
    place.folder().write("bad/" + name, bytes);
    bad.push_back("bad/" + name);
  }
  fs::create_symlink("nowhere", place.path("bad/dangling.jpg"));
  fs::create_symlink("loop.jpg", place.path("bad/loop.jpg"));
  REQUIRE(::mkfifo(place.path("bad/pipe.jpg").c_str(), 0600) == 0);
  fs::create_directory(place.path("bad/folder.jpg"));
  bad = with(bad, {"bad/dangling.jpg", "bad/loop.jpg", "bad/pipe.jpg", "bad/folder.jpg", "/dev/zero", "absent.jpg",
                   "bad/none*.jpg", std::string(5000, 'n') + ".jpg"});
  REQUIRE(bad.size() >= 20);
  for (std::size_t i = 0; i < bad.size(); ++i) {
    words.push_back(bad[i]);
    if (i < good.size()) words.push_back(good[i]);
  }
  const auto outcome = place.run(words);
  REQUIRE_EXIT(outcome, 3);
  CHECK_SAYS(outcome, std::to_string(bad.size()) + " of " + std::to_string(bad.size() + 3) + " inputs could not be");
  CHECK(outcome.err.find('\x1b') == std::string::npos);
  const auto answers = lines_of(outcome.out);
  REQUIRE(answers.size() == bad.size() + 3);
  std::vector<json> whole;
  std::size_t errors = 0;
  for (auto& answer : answers) {
    CAPTURE(answer);
    CHECK(answer.contains("error") != answer.contains("top"));
    if (answer.contains("top")) whole.push_back(answer);
    if (!answer.contains("error")) continue;
    ++errors;
    CHECK(answer.at("error") != "");
    const std::string name = answer.at("file");
    if (name.find('\n') == name.npos && name.find("\xef\xbf\xbd") == name.npos) CHECK_SAYS(outcome, name + ": ");
  }
  CHECK(errors == bad.size());
  const auto alone = place.run(with({"predict", "run", "--jsonl"}, good));
  REQUIRE_EXIT(alone, 0);
  REQUIRE(whole.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    const auto expected = lines_of(alone.out)[i];
    CHECK(whole[i].at("file") == expected.at("file"));
    CHECK(whole[i].at("top")[0].at("score").get<double>() ==
          doctest::Approx(expected.at("top")[0].at("score").get<double>()).epsilon(1e-5));
  }
  // Nothing but damage.
  const auto none = place.run({"predict", "run", "bad/text.jpg", "--csv", "-"});
  REQUIRE_EXIT(none, 3);
  CHECK(none.out.starts_with("file,rank,class,label,score,error\nbad/text.jpg,,,,,"));
}

TEST_CASE("requests on standard input are answered at once, in their order, with their ids") {
  const TempRun place(without_shapes());
  train_on_jpegs(place);
  const auto plain = place.run({"predict", "run", "pictures/val/cat/11.jpg", "--jsonl"});
  REQUIRE_EXIT(plain, 0);
  const auto expected = lines_of(plain.out)[0].at("top");

  ProcessOptions options = place.process_options();
  options.input = place.path("requests");
  REQUIRE(::mkfifo(options.input.c_str(), 0600) == 0);
  Process service({"predict", "run", "--jsonl=answers.jsonl"}, options);
  std::ofstream requests(options.input);
  const auto answers = place.path("answers.jsonl");
  const std::string file = R"("file": "pictures/val/cat/11.jpg")";
  requests << "{" << file << ", \"id\": 1}\n" << std::flush;
  REQUIRE(service.wait_for_text("\n", answers, 60, 1));  // while the next request does not exist
  requests << "{" << file << ", \"id\": {\"a\": [2]}}\n{" << file << "}\nnonsense\n{\"id\": 5}\n"
           << R"({"id": 6, "file": "absent.jpg"})"
           << "\n{" << file << ", \"id\": 7}\n"
           << std::string(100'000, '[') << "\n{" << file << "}" << std::flush;
  requests.close();
  const auto outcome = service.wait(60);
  REQUIRE_EXIT(outcome, 3);
  const auto lines = lines_of(read_text(answers));
  REQUIRE(lines.size() == 9);
  CHECK(lines[0].at("id") == 1);
  CHECK(lines[1].at("id") == json{{"a", {2}}});
  for (const std::size_t i : {2, 3, 7, 8}) CHECK_FALSE(lines[i].contains("id"));
  for (const std::size_t i : {0, 1, 2, 6, 8}) {
    CHECK(lines[i].at("top")[0].at("class") == expected[0].at("class"));
    CHECK(lines[i].at("top")[0].at("score").get<double>() ==
          doctest::Approx(expected[0].at("score").get<double>()).epsilon(1e-5));
  }
  CHECK(lines[3].at("error").get<std::string>().starts_with("the line is no JSON object; a request is"));
  CHECK(lines[4].at("id") == 5);
  CHECK(lines[4].at("error").get<std::string>().starts_with("it has no \"file\""));
  CHECK(lines[5].at("id") == 6);
  CHECK(lines[5].contains("error"));
  CHECK(lines[7].at("error").get<std::string>().starts_with("the line is longer than 64 KiB"));
}

TEST_CASE("pictures that appear in a watched folder are predicted once they are whole") {
  const TempRun place(without_shapes());
  train_on_jpegs(place);
  place.folder().write("in/there.jpg", jpeg_of(0));
  Process watching({"predict", "run", "--watch", "in", "--jsonl=answers.jsonl"}, place.process_options());
  REQUIRE(watching.wait_for_text("watching in for images", {}, 60));
  const auto answers = place.path("answers.jsonl");
  place.folder().write("in/below/first.jpg", jpeg_of(1));
  place.folder().write("in/notes.txt", "no picture");
  REQUIRE(watching.wait_for_text("first.jpg", answers, 60));
  place.folder().write("in/there.jpg", jpeg_of(2));  // written again
  REQUIRE(watching.wait_for_text("there.jpg", answers, 60));
  watching.send(SIGTERM);
  CHECK_EXIT(watching.wait(60), 143);
  const auto lines = lines_of(read_text(answers));
  REQUIRE(lines.size() == 2);
  for (auto& line : lines) CHECK(line.contains("top"));
}

TEST_CASE("a detector's boxes are those of validation, and are drawn") {
  const TempRun place(detector);
  const Words many{"--set", "detect.ae_threshold=100.0", "--set", "detect.top_k=100", "--set", "detect.num_dets=1000"};
  REQUIRE_EXIT(place.train(with(many, {"--run-dir", "run", "--set", "val.pictures=3"})), 0);
  const auto folder = place.path("run/pictures/iter-00000004");
  const auto shown = json::parse(read_text(folder / "pictures.json")).at("samples");
  REQUIRE(shown.size() == 3);
  place.folder().write("small.png", text_of(encode_png(noise_picture(1, 1, 3).view())));
  place.folder().write("text.png", "no picture");
  Words words{"predict", "run", "--iter", "4", "--min-score", "0", "--jsonl", "--pictures", "drawn", "text.png"};
  for (auto& sample : shown) words.push_back(folder / sample.at("file").get<std::string>());
  const auto outcome = place.run(with(words, {"small.png"}));
  CHECK_EXIT(outcome, 3);
  const auto answers = lines_of(outcome.out);
  REQUIRE(answers.size() == 5);
  CHECK(answers[0].contains("error"));
  std::size_t compared = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    std::vector<json> expected;
    for (auto& box : shown[i].at("boxes"))
      if (!box.at("truth").get<bool>()) expected.push_back(box);
    const auto& boxes = answers[i + 1].at("boxes");
    REQUIRE(boxes.size() >= expected.size());
    compared += expected.size();
    for (std::size_t b = 0; b < expected.size(); ++b) {
      CHECK(boxes[b].at("class") == expected[b].at("label"));
      for (const char* key : {"score", "x1", "y1", "x2", "y2"})
        CHECK(boxes[b].at(key).get<double>() == doctest::Approx(expected[b].at(key).get<double>()).epsilon(1e-5));
    }
    const std::string drawn = read_text(place.path(answers[i + 1].at("picture")));
    CHECK(drawn.starts_with("\x89PNG"));
    CHECK(drawn != read_text(folder / shown[i].at("file").get<std::string>()));
  }
  CHECK(compared > 10);
  const auto csv = place.run({"predict", "run", (folder / "00.png").string(), "--min-score", "1", "--csv", "-"});
  REQUIRE_EXIT(csv, 0);
  CHECK(csv.out == "file,class,label,score,x1,y1,x2,y2,error\n" + (folder / "00.png").string() + ",,,,,,,,\n");
  const auto table = place.run({"predict", "run", (folder / "00.png").string(), "--min-score", "1"});
  CHECK(table.out == (folder / "00.png").string() + "  nothing\n");
}

TEST_CASE("requests that predict cannot meet are refused with the way out") {
  const TempRun place;
  REQUIRE_EXIT(place.train({"--run-dir", "run", "--max-iter", "7"}), 0);
  place.folder().write("a.jpg", jpeg_of(0));
  const auto refused = [&](const Words& words, int code, const std::string& text) {
    const auto outcome = place.run(with({"predict"}, words));
    CHECK_EXIT(outcome, code);
    CHECK_SAYS(outcome, text);
  };
  refused({}, 2, "SNAPSHOT is required");
  refused({"run"}, 2, "INPUT is required");
  refused({"nowhere", "a.jpg"}, 4, "nowhere: this snapshot or run does not exist");
  refused({"tiny.toml", "a.jpg"}, 4, "tiny.toml: this is neither a snapshot nor a run");
  refused({"run", "--iter", "3", "a.jpg"}, 4, "3");
  refused({"run/snapshots/latest", "--iter", "7", "a.jpg"}, 2, "--iter");
  refused({"run", "a.jpg", "--jsonl", "--csv", "-"}, 2, "both would go to standard output");
  refused({"run", "--jsonl", "--csv", "a.csv"}, 2, "--csv");
  refused({"run", "a.jpg", "--csv", "no/such/folder.csv"}, 4, "cannot write no/such/folder.csv");
  refused({"run", "--watch", "a.jpg"}, 3, "a.jpg: Not a directory");
  refused({"run", "-"}, 3, "there are no inputs");

  const auto seen = place.run({"predict", "run", "a.jpg", "--jsonl", "--pictures", "seen"});
  REQUIRE_EXIT(seen, 0);
  CHECK(lines_of(seen.out)[0].at("picture") == "seen/000001-a.png");
  CHECK(read_text(place.path("seen/000001-a.png")).starts_with("\x89PNG"));
}

}  // namespace flowtrain::predict_test
