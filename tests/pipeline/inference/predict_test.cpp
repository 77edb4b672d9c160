#include <doctest/doctest.h>
#include <unistd.h>

#include <cmath>
#include <limits>

#include "pipeline/inference/generate/prompt_lines.h"
#include "pipeline/inference/predict/folder_watch.h"
#include "pipeline/inference/predict/input_dataset.h"
#include "pipeline/inference/predict/requests.h"
#include "sampling/core/error.h"
#include "sampling/core/text.h"
#include "sampling/samplers/stored.h"
#include "tests/support/sounds.h"
#include "tests/support/tar_helper.h"
#include "tests/support/temp_folder.h"

namespace flowtrain::predict_test {
namespace {

using Texts = std::vector<std::string>;

/// Names below the folder, and what is wrong with an input behind a bar.
Texts found_in(const TempFolder& folder, const std::string& word) {
  InputFinder finder;
  const std::string start = (folder.path() / "").string();
  Texts names;
  for (auto& input : finder.find(start + word)) {
    REQUIRE(input.name.starts_with(start));
    names.push_back(input.name.substr(start.size()) + (input.problem.empty() ? "" : "|" + input.problem));
  }
  return names;
}

std::string text_of(const Record& record) {
  return {reinterpret_cast<const char*>(record.bytes.data()), record.bytes.size()};
}

Texts names_of(const std::vector<Input>& inputs) {
  Texts names;
  for (auto& input : inputs) names.push_back(std::filesystem::path(input.name).filename().string());
  return names;
}

}  // namespace

TEST_CASE("inputs: files of any name, picture files of folders and archives, patterns") {
  const TempFolder folder;
  for (const char* name :
       {"b.PNG", "a.jpg", "deep/er/c.webp", ".hidden.jpg", "deep/.h/d.jpg", "notes.txt", "x/none.txt"})
    folder.write(name, name);
  folder.write("a.tar",
               TarBytes().entry("z.jpg", "z").entry("a.png", "a").entry("._a.png", "").entry("t.txt", "").end());
  folder.write("cut.tar", TarBytes().entry("z.jpg", "z").bytes());
  folder.write("star[1].jpg", "");
  CHECK(found_in(folder, "notes.txt") == Texts{"notes.txt"});
  CHECK(found_in(folder, "deep") == Texts{"deep/er/c.webp"});
  CHECK(found_in(folder, "") == Texts{"a.jpg", "b.PNG", "deep/er/c.webp", "star[1].jpg"});
  CHECK(found_in(folder, "?.*g") == Texts{"a.jpg"});
  CHECK(found_in(folder, "[ad]*p*") == Texts{"a.jpg", "deep/er/c.webp"});  // a folder that matches is gone through
  CHECK(found_in(folder, "star[1].jpg") == Texts{"star[1].jpg"});          // that file, not a pattern
  CHECK(found_in(folder, "a.tar") == Texts{"a.tar:z.jpg", "a.tar:a.png"});
  CHECK(found_in(folder, "q*") == Texts{"q*|no file matches this pattern"});
  CHECK(found_in(folder, "gone.jpg") == Texts{"gone.jpg"});  // reading it tells
  CHECK(found_in(folder, "gone.tar") == Texts{"gone.tar|No such file or directory"});
  const auto none = found_in(folder, "x"), cut = found_in(folder, "cut.tar");
  REQUIRE(none.size() == 1);
  CHECK(none[0].starts_with("x|it holds no images (.jpg,"));
  REQUIRE(cut.size() == 2);
  CHECK(cut[0] == "cut.tar:z.jpg");
  CHECK(cut[1].starts_with("cut.tar|"));
}

TEST_CASE("predictions need the parts of all texts, but neither those of classes nor those of tags") {
  const TempFolder folder;
  const auto file = folder.write("a.toml",
                                 "[data]\ndataset = \"shapes\"\n"
                                 "[[field]]\nname = \"a\"\nfrom = \"q\"\nas = \"pair\"\nsecond = \"r\"\nmax = 9\n"
                                 "[[field]]\nname = \"b\"\nfrom = \"text\"\nas = \"tags\"\nmax = 9\n"
                                 "tags_from = \"tag\"\ntags = [\"O\"]\n"
                                 "[[field]]\nname = \"c\"\nfrom = \"kinds\"\nas = \"labels\"\n");
  std::vector<PartForm> forms;
  for (const char* const name : {"q", "r", "text", "tag", "kinds"}) forms.push_back({name, Encoding::text});
  const auto parts = LearntParts::of(load_config(file, {}), forms);
  CHECK(parts.names() == "q, r, text");
  CHECK(parts.targets == std::vector<std::string>{"kinds"});
  CHECK(parts.forms.size() == 4);
  CHECK(!parts.picture);
}

TEST_CASE("rows and requests of recordings are the segments that a manifest makes of them") {
  const TempFolder folder;
  const auto config = load_config(folder.write("a.toml",
                                               "[data]\ndataset = \"manifest\"\npath = \"table.csv\"\n"
                                               "[[field]]\nname = \"x\"\nfrom = \"audio\"\nas = \"wave\"\n"),
                                  {});
  folder.write("a.wav", wav_of(tone(1000, 1, 1000)));
  const auto table = folder.write("table.csv", "audio,begin,duration\na.wav,0.25,0.25\na.wav,,\n").string();
  const auto parts = LearntParts::of(config, {{"audio", Encoding::audio}});
  const RecordFinder records(config, parts);
  const auto frames = [](const Input& input) -> std::uint64_t {
    CHECK(input.problem == "");
    if (!input.records) return 0;
    ReadBuffer buffer;
    return sound_form(input.records->read(input.record, buffer).parts[0].bytes).frames;
  };
  const auto rows = records.find(table);
  REQUIRE(rows.size() == 2);
  CHECK(frames(rows[0]) == 250);
  CHECK(frames(rows[1]) == 1000);
  const auto audio = (folder.path() / "a.wav").string();
  const auto row = [&](const std::string& values) {
    return *records.row(R"({"audio": ")" + audio + "\"" + values + "}");
  };
  CHECK(frames(row(R"(, "offset": 0.5, "end": "0.6")")) == 100);
  CHECK(frames(row(R"(, "begin": null)")) == 1000);
  CHECK(row(R"(, "begin": "x")").problem.find("'x' is no time in seconds") != std::string::npos);

  InputFinder finder(&records);
  for (const char* const key : {"begin", "end", "start", "Stop", "offset"})
    CHECK(parse_request(R"({"file": "a.wav", ")" + std::string(key) + "\": 1}", finder)
              .input.problem.starts_with(concat("a file is read whole, but the line has \"", key, '"')));
  CHECK(parse_request(R"({"file": "a.wav", "duration": 1, "begin": null})", finder).input.problem.empty());
}

TEST_CASE("a request with a file is refused where it has the run's own columns of segments") {
  const TempFolder folder;
  const auto config =
      load_config(folder.write("a.toml",
                               "[data]\ndataset = \"manifest\"\npath = \"t.csv\"\nbegin = \"from\"\nend = \"\"\n"
                               "[[field]]\nname = \"x\"\nfrom = \"audio\"\nas = \"wave\"\n"),
                  {});
  const auto parts = LearntParts::of(config, {{"audio", Encoding::audio}});
  const RecordFinder records(config, parts);
  InputFinder finder(&records);
  CHECK(parse_request(R"({"file": "a.wav", "from": 1})", finder).input.problem.starts_with("a file is read whole"));
  CHECK(parse_request(R"({"file": "a.wav", "end": 1, "start": 1})", finder).input.problem.empty());
}

namespace {

/// A net that learnt from the texts of one column.
class TextRecords {
 public:
  explicit TextRecords(const std::string& data, const std::string& from = "text")
      : config_(
            load_config(folder.write("a.toml", data + "\npath = \"t.jsonl\"\n[[field]]\nname = \"tokens\"\nfrom = \"" +
                                                   from + "\"\nas = \"tokens\"\nmax = 9\n"),
                        {})),
        parts_(LearntParts::of(config_, {{from, Encoding::text}})) {}

  /// Returns the text of an input, or the problem behind a bar.
  std::string read(const Input& input) const {
    if (!input.problem.empty()) return "|" + input.problem;
    const std::vector<Input> inputs{input};
    ReadBuffer buffer;
    try {
      const Record record = InputDataset(inputs, {}, std::nullopt, parts_).read(1, buffer);
      const auto& bytes = record.parts[0].bytes;
      return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    } catch (const SampleError& error) {
      return std::string("|") + error.what();
    }
  }
  std::string request(const std::string& line) {
    InputFinder finder(&records_);
    return read(parse_request(line, finder).input);
  }
  Texts found(const std::string& word) {
    InputFinder finder(&records_);
    Texts texts;
    for (auto& input : finder.find((folder.path() / word).string())) texts.push_back(read(input));
    return texts;
  }

  const TempFolder folder;

 private:
  const Config config_;
  const LearntParts parts_;
  const RecordFinder records_{config_, parts_};
};

}  // namespace

TEST_CASE("texts of requests are those that a table in JSON lines has: digits and lists as they stand, no null") {
  TextRecords run("[data]\ndataset = \"manifest\"");
  CHECK(run.request(R"({"text": "a \"b\"", "id": 1})") == "a \"b\"");
  CHECK(run.request(R"({"text": 1.50})") == "1.50");
  CHECK(run.request(R"({"text": 12345678901234567890123})") == "12345678901234567890123");
  CHECK(run.request(R"({"text": true})") == "1");
  CHECK(run.request(R"({"text": ["a",  "b"]})") == R"(["a",  "b"])");
  CHECK(run.request(R"({"text": ""})").empty());
  CHECK(run.request(R"({"text": null})") == "|it lacks 'text', which the net learnt from");
  CHECK(run.request(R"({"text": "a", "text": "b"})") == "|the request:1: 'text' occurs twice");
}

TEST_CASE("a text that is the name of a file stays a text, unless training read the column's files") {
  for (const char* const data : {"[data]\ndataset = \"manifest\"", "[data]\ndataset = \"webdataset\""}) {
    TextRecords run(data);
    const auto file = run.folder.write("letter.txt", "secret").string();
    CHECK(run.request(R"({"text": ")" + file + "\"}") == file);
  }
  TextRecords texts("[data]\ndataset = \"manifest\"");
  texts.folder.write("letter.txt", "content");
  texts.folder.write("new.csv", "text\nletter.txt\nb.txt\n");
  CHECK(texts.found("new.csv") == Texts{"letter.txt", "b.txt"});

  TextRecords files("[data]\ndataset = \"manifest\"\nfiles = [\"text\"]");
  const auto file = files.folder.write("letter.txt", "content").string();
  files.folder.write("new.csv", "text\nletter.txt\n");
  CHECK(files.found("new.csv") == Texts{"content"});
  CHECK(files.request(R"({"text": ")" + file + "\"}") == "content");

  TextRecords members("[data]\ndataset = \"webdataset\"", "txt");
  members.folder.write("letter.txt", "content");
  members.folder.write("new.csv", "txt\nletter.txt\n");
  members.folder.write("texts.csv", "txt\nletter.txt\na fine text\n");
  CHECK(members.found("new.csv") == Texts{"content"});
  CHECK(members.found("texts.csv") == Texts{"letter.txt", "a fine text"});
}

TEST_CASE("a file is the text of a net that learnt from one text, in requests, too, and a missing one is told") {
  TextRecords run("[data]\ndataset = \"manifest\"");
  const auto file = run.folder.write("letter.txt", "content").string();
  CHECK(run.request(R"({"file": ")" + file + "\"}") == "content");
  CHECK(run.found("letter.txt") == Texts{"content"});
  CHECK(run.found("gone.txt") == Texts{"|No such file or directory"});
  CHECK(run.request(R"({"file": "gone.txt"})") == "|No such file or directory");
  CHECK(run.request("{}") == R"(|it has no "file" with a text; a request is a line as {"text": "…", "id": 1})");
}

TEST_CASE("inputs of a net that learnt from recordings: the recordings of folders and archives, whole or in tables") {
  const TempFolder folder;
  const auto sound = wav_of(tone(4800)), other = wav_of(tone(3200, 2));
  for (const char* name : {"all/b.WAV", "all/deep/a.flac", "all/c.jpg", "all/c.txt", "all/.d.wav"})
    folder.write(name, sound);
  folder.write("a.tar", TarBytes().entry("z.wav", sound).entry("a.png", "a").entry("y.mp3", other).end());
  folder.write("t.jsonl", R"({"audio": "all/b.WAV", "begin": 0.1, "end": 0.2})"
                          "\n");
  const auto config =
      load_config(folder.write("a.toml",
                               "[data]\ndataset = \"manifest\"\npath = \"t.jsonl\"\n[val]\ngroup_by = \"speaker\"\n"
                               "[[field]]\nname = \"features\"\nfrom = \"audio\"\nas = \"logmel\"\nchannel = 1\n"
                               "[[field]]\nname = \"label\"\nfrom = \"text\"\nas = \"tokens\"\nmax = 9\n"
                               "[[field]]\nname = \"speaker\"\nfrom = \"speaker\"\nas = \"bytes\"\nmax = 9\n"),
                  {});
  const auto parts =
      LearntParts::of(config, {{"audio", Encoding::audio}, {"text", Encoding::text}, {"speaker", Encoding::text}});
  CHECK(parts.targets == Texts{"text", "speaker"});
  REQUIRE(parts.recording());
  CHECK(parts.recording()->name == "audio");
  CHECK(parts.channels == 2);
  const RecordFinder records(config, parts);
  InputFinder finder(&records);
  const auto found = [&](const char* word) { return finder.find((folder.path() / word).string()); };
  CHECK(names_of(found("all")) == Texts{"b.WAV", "a.flac"});
  CHECK(names_of(found("a.tar")) == Texts{"a.tar:z.wav", "a.tar:y.mp3"});
  CHECK(found("none.wav").at(0).name.ends_with("none.wav"));
  folder.write("empty/a.txt", "a");
  CHECK(found("empty").at(0).problem.starts_with("it holds no recordings (.wav,"));

  auto inputs = found("all");
  for (const char* word : {"a.tar", "t.jsonl", "all/c.txt"})
    for (auto& input : found(word)) inputs.push_back(std::move(input));
  REQUIRE(inputs.size() == 6);
  CHECK(inputs[4].name.ends_with("t.jsonl:1"));
  const InputDataset dataset(inputs, {}, std::nullopt, parts);
  ReadBuffer buffer;
  const auto form = [&](std::uint64_t id) {
    const Record record = dataset.read(id, buffer);
    REQUIRE(record.part("text"));
    REQUIRE(record.part("speaker"));
    return sound_form(record.part("audio")->bytes);
  };
  CHECK(form(0).channels == 2);  // damaged recordings become a tone, which suits the fields
  Sound blank;
  decode_sound(dataset.read(0, buffer).part("audio")->bytes, blank);
  CHECK(blank.frames() == 4000);
  CHECK(form(1).frames == 4800);
  CHECK(form(4).frames == 3200);
  CHECK(form(5).frames == 1600);
  CHECK(form(6).frames == 4800);  // its content decides
  CHECK(records.row(R"({"audio": ")" + (folder.path() / "all/b.WAV").string() + "\"}"));
  CHECK(!records.row(R"({"file": "all/b.WAV"})"));
}

TEST_CASE("a data set of inputs: record 0 has the form of the training data, and stands for what is damaged") {
  const TempFolder folder;
  folder.write("a.tar", TarBytes().entry("z.jpg", "from the archive").end());
  InputFinder finder;
  const auto file = folder.write("a.jpg", "from the file");
  std::vector<Input> inputs{finder.single(file), finder.find((folder.path() / "a.tar").string())[0],
                            finder.single("/dev/null"), finder.single(std::string("a\0b", 3)),
                            finder.single((folder.path() / "gone").string())};
  const std::vector<std::string> classes{"cat", "dog"};
  const LearntParts no_parts;
  const InputDataset dataset(inputs, classes, std::nullopt, no_parts);
  CHECK(dataset.size() == 6);
  CHECK(dataset.classes() == classes);
  CHECK(dataset.describe(1) == file.string());
  ReadBuffer buffer;
  CHECK(text_of(dataset.read(1, buffer)) == "from the file");
  CHECK(text_of(dataset.read(2, buffer)) == "from the archive");
  CHECK(dataset.read(2, buffer).label == 0);
  CHECK_THROWS_WITH_AS(dataset.read(3, buffer), "it is a pipe or a device, but a regular file is needed", SampleError);
  CHECK_THROWS_WITH_AS(dataset.read(4, buffer), "a file's name has no zero byte", SampleError);
  CHECK_THROWS_WITH_AS(dataset.read(5, buffer), "No such file or directory", SampleError);
  CHECK(dataset.source_of(4).first == 0);
  CHECK(dataset.source_of(4).size == 1);
  const StoredForm files = stored_form(dataset);
  CHECK(files.encoding == Encoding::image);
  CHECK(files.height == 0);
  const StoredForm pixels = stored_form(InputDataset(inputs, classes, PixelForm{28, 24, 1}, no_parts));
  CHECK(pixels.encoding == Encoding::pixels);
  CHECK(pixels.height == 28);
  CHECK(pixels.width == 24);
  CHECK(pixels.channels == 1);
  const StoredForm parts = stored_form(InputDataset(inputs, classes, PixelForm{0, 0, 3}, no_parts));
  CHECK(parts.encoding == Encoding::pixels);
  CHECK(parts.height == 0);
  CHECK(parts.channels == 3);
  const InputOrder order(5);
  CHECK(order.size() == 5);
  CHECK(order.at(0, 0) == 1);
  CHECK(order.at(7, 4) == 5);
}

TEST_CASE("a watched folder: what is new or written again, once it rests") {
  const TempFolder folder;
  folder.write("old.jpg", "1");
  FolderWatch watch(folder.path().string());
  CHECK(watch.look().empty());
  folder.write("b.jpg", "1");
  folder.write("deep/a.png", "1");
  folder.write("notes.txt", "1");
  CHECK(watch.look().empty());  // perhaps they are still being written
  folder.write("b.jpg", "12");
  CHECK(names_of(watch.look()) == Texts{"a.png"});
  CHECK(names_of(watch.look()) == Texts{"b.jpg"});
  CHECK(watch.look().empty());
  folder.write("old.jpg", "12");
  CHECK(watch.look().empty());
  CHECK(names_of(watch.look()) == Texts{"old.jpg"});
  std::filesystem::remove(folder.path() / "b.jpg");
  CHECK(watch.look().empty());
  folder.write("b.jpg", "12");
  CHECK(watch.look().empty());
  CHECK(names_of(watch.look()) == Texts{"b.jpg"});
  CHECK_THROWS_AS(FolderWatch((folder.path() / "b.jpg").string()), UserError);
}

TEST_CASE("the most probable classes: softmax over all, also where it overflows") {
  const std::vector<float> logits{1, 3, 3, -2};
  const auto top = best_classes(logits, 3);
  REQUIRE(top.size() == 3);
  CHECK(top[0].label == 1);
  CHECK(top[1].label == 2);
  CHECK(top[2].label == 0);
  const double sum = std::exp(1.0) + 2 * std::exp(3.0) + std::exp(-2.0);
  CHECK(top[0].score == doctest::Approx(std::exp(3.0) / sum));
  CHECK(top[2].score == doctest::Approx(std::exp(1.0) / sum));
  CHECK(best_classes(logits, 9).size() == 4);
  const std::vector<float> vast{1e30F, -1e30F};
  CHECK(best_classes(vast, 2)[0].score == 1);
  CHECK(best_classes(vast, 2)[1].score == 0);
}

TEST_CASE("predictions as JSON and CSV: boxes, errors, names that need quotes, numbers that read back") {
  const TempFolder folder;
  const Texts classes{"cat", "a \"dog\", or two"};
  const PredictionFormat of_classes{.classes = classes, .logits = true}, of_boxes{.classes = classes, .detects = true},
      of_tokens{.classes = classes, .tokens = true};
  const std::vector<float> logits{0.1F, std::numeric_limits<float>::denorm_min()};
  const Prediction dog{.name = "a,b.jpg", .top = {{1, 0.75}, {7, 0.25}}, .logits = logits};
  const auto json = to_json(dog, of_classes);
  CHECK(json_line(json).starts_with(
      R"({"file":"a,b.jpg","top":[{"class":"a \"dog\", or two","label":1,"score":0.75},{"class":"7","label":7,)"));
  CHECK(json.at("logits").get<std::vector<float>>() == logits);
  const Prediction damaged{.name = "x\xff.jpg", .damage = "torn"};
  CHECK(json_line(to_json(damaged, of_boxes)) == "{\"file\":\"x\xef\xbf\xbd.jpg\",\"error\":\"torn\"}");
  const Prediction boxes{.name = "b.jpg", .found = {{1, 2, 3.5, 4, 0.5, 0}}, .picture = "drawn/1.png"};
  CHECK(json_line(to_json(boxes, of_boxes)) ==
        R"({"file":"b.jpg","boxes":[{"class":"cat","label":0,"score":0.5,"x1":1.0,"y1":2.0,"x2":3.5,"y2":4.0}],)"
        R"("picture":"drawn/1.png"})");

  const auto csv_of = [&](const PredictionFormat& format, const std::vector<Prediction>& predictions) {
    const std::string path = (folder.path() / "out.csv").string();
    const auto writer = make_csv_writer(format, path);
    for (auto& each : predictions) writer->write(each);
    std::ifstream file(path);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  CHECK(csv_of(of_classes, {dog, damaged}) ==
        "file,rank,class,label,score,error\n"
        "\"a,b.jpg\",1,\"a \"\"dog\"\", or two\",1,0.75,\n\"a,b.jpg\",2,7,7,0.25,\nx\xff.jpg,,,,,torn\n");
  CHECK(csv_of(of_boxes, {boxes, {.name = "none.jpg"}, damaged}) ==
        "file,class,label,score,x1,y1,x2,y2,error\n"
        "b.jpg,cat,0,0.5,1,2,3.5,4,\nnone.jpg,,,,,,,,\nx\xff.jpg,,,,,,,,torn\n");
  const Prediction words{.name = "t.jsonl:1",
                         .tokens = {{"EU", "B-ORG", 1, 0.5}, {"a,b", "O", 0, 0.25, 0.125}},
                         .shown = "EU/B-ORG a,b/O",
                         .perplexity = 2};
  CHECK(json_line(to_json(words, of_tokens)) ==
        R"({"file":"t.jsonl:1","shown":"EU/B-ORG a,b/O","perplexity":2.0,"tokens":[)"
        R"({"text":"EU","class":"B-ORG","label":1,"score":0.5},)"
        R"({"text":"a,b","class":"O","label":0,"score":0.25,"probability":0.125}]})");
  CHECK(csv_of(of_tokens, {words, {.name = "none"}, damaged}) ==
        "file,place,text,class,label,score,probability,error\nt.jsonl:1,1,EU,B-ORG,1,0.5,,\n"
        "t.jsonl:1,2,\"a,b\",O,0,0.25,0.125,\nnone,,,,,,,\nx\xff.jpg,,,,,,,torn\n");
  CHECK(printable("a\x1b[31m\nb") == "a?[31m?b");
}

TEST_CASE(
    "lines of a pipe arrive as they are written, several at once, the last one without its newline, and none is "
    "blank") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const auto write = [&](const std::string& text) {
    REQUIRE(::write(ends[1], text.data(), text.size()) == std::ssize(text));
  };
  LineReader lines(ends[0], LineReader::Holds::requests);
  write("one\ntwo\nthree\nfo");
  CHECK(lines.next(2) == Texts{"one", "two"});
  CHECK(lines.next(2) == Texts{"three"});
  write("ur\n\n \t\nfive");
  ::close(ends[1]);
  CHECK(lines.next(9) == Texts{"four"});
  CHECK(lines.next(9) == Texts{"five"});
  CHECK(lines.next(9).empty());
  ::close(ends[0]);
}

TEST_CASE("requests: what is none becomes an input with a problem") {
  InputFinder finder;
  const auto good = parse_request(R"({"id": [1, "x"], "file": "a.jpg", "more": 1})", finder);
  CHECK(good.input.name == "a.jpg");
  CHECK(good.input.problem.empty());
  REQUIRE(good.id);
  CHECK(good.id->dump() == R"([1,"x"])");
  CHECK(!parse_request(R"({"file": "a.jpg"})", finder).id);
  const auto null = parse_request(R"({"file": "a.jpg", "id": null})", finder);
  CHECK((null.id && null.id->is_null()));
  const auto nameless = parse_request(R"({"id": 3, "file": 7})", finder);
  CHECK(nameless.input.problem.starts_with("it has no \"file\""));
  CHECK(*nameless.id == 3);
  CHECK(parse_request(R"({"file": "a.wav", "begin": 1})", finder).input.problem.starts_with("a file is read whole"));
  for (const std::string& line : {std::string(), std::string("{"), std::string("\"a.jpg\""), std::string(60'000, '['),
                                  std::string("{\"file\": \"\xff\"}")})
    CHECK(parse_request(line, finder).input.problem.starts_with("the line is no JSON object"));
  for (const char* const key : {"id", "file", "more"}) {
    const std::string deep = std::string(30'000, '[') + std::string(30'000, ']');
    CHECK(parse_request(concat("{\"", key, "\": ", deep, "}"), finder)
              .input.problem.starts_with("the line is no JSON object: it is nested deeper than 100"));
  }
  CHECK(parse_request(std::string(70'000, ' '), finder).input.problem.starts_with("the line is longer"));
}

TEST_CASE("prompts: lines that are none have a problem, also those of many brackets, and an id of null is one") {
  const auto good = parse_prompt(R"({"prompt": "a", "id": null})");
  CHECK(good.text == "a");
  CHECK((good.id && good.id->is_null()));
  CHECK(!parse_prompt(R"({"prompt": "a"})").id);
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  for (const char* const key : {"id", "prompt", "more"})
    CHECK(parse_prompt(concat("{\"", key, "\": ", deep, "}"))
              .problem.starts_with("the line is no JSON object: it is nested deeper than 100"));
  CHECK(parse_prompt("[1]").problem.starts_with("the line is no JSON object; a request"));
}

}  // namespace flowtrain::predict_test
