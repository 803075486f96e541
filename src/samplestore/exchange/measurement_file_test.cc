#include "samplestore/exchange/measurement_file.h"

#include <gmock/gmock.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/files.h"
#include "base/text.h"

namespace assay::samplestore {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Measurement Minimal(const std::string& uid, Outcome outcome) {
  Measurement measurement;
  measurement.uid = uid;
  measurement.experiment = "e-v1.0.0";
  measurement.parameterized_id = "e-v1.0.0";
  measurement.entity = {{"batch_size", int64_t{4}}};
  measurement.entity_id = space::EntityId(measurement.entity);
  measurement.outcome = outcome;
  measurement.measured_at = "2026-01-31T12:00:00Z";
  return measurement;
}

/// Of everything that a measurement holds, what is easily lost.
std::vector<Measurement> Examples() {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  Measurement full = Minimal("u1", Outcome::kValid);
  full.parameterized_id = "e-v1.0.0-a.1";
  full.entity = {{"text_4", std::string("4")},
                 {"whole", int64_t{4}},
                 {"real", 4.0},
                 {"yes", true},
                 {"none", space::Value()},
                 {"empty", std::string()},
                 {"none_text", std::string("None")}};
  full.entity_id = space::EntityId(full.entity);
  full.parameters = {{"a", int64_t{1}},
                     {"dataset, id", std::string("\"x\",\r\n 'y' \xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80")}};
  full.properties = {{"tiny", 5e-324},
                     {"third", 1.0 / 3},
                     {"minus_zero", -0.0},
                     {"largest", std::numeric_limits<int64_t>::max()},
                     {"absent", space::Value()}};
  full.units = {{"tiny", "s"}};
  full.provenance = {{"host", " with spaces "}, {"note", ""}};
  full.depends_on = {{"machine", "m, 2 cores, 4 GiB"}};
  full.series = {{"loss", {3.5, std::nan(""), kInfinite, -kInfinite, 0.1}}, {"nothing", {}}};
  Measurement repeat = full;
  repeat.uid = "u2";
  repeat.series.clear();
  Measurement failed = Minimal("u3", Outcome::kFailed);
  failed.reason = "the worker ended: \"out of\nspace\", \xe4\xb8\xad\xe6\x96\x87";
  return {full, repeat, failed, Minimal("u4", Outcome::kInvalid)};
}

void ExpectSame(const Measurement& got, const Measurement& wanted) {
  EXPECT_EQ(got.uid, wanted.uid);
  EXPECT_EQ(got.experiment, wanted.experiment);
  EXPECT_EQ(got.parameterized_id, wanted.parameterized_id);
  EXPECT_EQ(got.entity, wanted.entity);
  EXPECT_EQ(got.entity_id, wanted.entity_id);
  EXPECT_EQ(got.parameters, wanted.parameters);
  EXPECT_EQ(got.outcome, wanted.outcome);
  EXPECT_EQ(got.reason, wanted.reason);
  EXPECT_EQ(got.properties, wanted.properties);
  EXPECT_EQ(got.units, wanted.units);
  EXPECT_EQ(got.provenance, wanted.provenance);
  EXPECT_EQ(got.depends_on, wanted.depends_on);
  EXPECT_EQ(got.measured_at, wanted.measured_at);
  ASSERT_EQ(got.series.size(), wanted.series.size());
  for (const auto& [name, values] : wanted.series) {
    ASSERT_EQ(got.series.at(name).size(), values.size()) << name;
    for (size_t i = 0; i < values.size(); ++i) {
      EXPECT_TRUE(got.series.at(name)[i] == values[i] || (std::isnan(got.series.at(name)[i]) && std::isnan(values[i])));
    }
  }
}

class MeasurementFileTest : public testing::Test {
 protected:
  std::string PathOf(std::string_view name) const { return folder_.path() + "/" + std::string(name); }

  static std::string Write(const std::string& path, const std::vector<Measurement>& measurements) {
    const auto writer = (*FindFileFormat("", path))->create(path);
    EXPECT_TRUE(writer.ok()) << writer.status().message();
    for (const Measurement& measurement : measurements) {
      EXPECT_TRUE((*writer)->Write(measurement).ok());
    }
    EXPECT_FALSE(FileExists(path)) << "before it is whole";
    EXPECT_TRUE((*writer)->Commit().ok());
    return *ReadFile(path);
  }

  static Status Read(const std::string& path, std::vector<Measurement>& measurements) {
    return (*FindFileFormat("", path))->read(path, [&](Measurement measurement) {
      measurements.push_back(std::move(measurement));
      return Status::Ok();
    });
  }

  /// The line that says why a CSV file of `text` is refused, nothing of it taken.
  std::string Refusal(std::string_view text) const {
    const std::string path = PathOf("refused.csv");
    std::ofstream(path) << text;  // many of them: none waits for the disk
    std::vector<Measurement> taken;
    const Status status = Read(path, taken);
    EXPECT_EQ(status.code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(taken, testing::IsEmpty());
    EXPECT_THAT(status.message(), AllOf(HasSubstr("refused.csv"), Not(HasSubstr("\n"))));
    return status.message();
  }

  /// The line that says what is wrong with file `name` of `text`; empty where nothing is.
  std::string ErrorOf(const std::string& name, std::string_view text) const {
    std::ofstream(PathOf(name)) << text;
    std::vector<Measurement> taken;
    return Read(PathOf(name), taken).message();
  }

  TemporaryDirectory folder_ = *TemporaryDirectory::Create("measurement_file_test");
};

TEST_F(MeasurementFileTest, KeepsEverythingInEveryFormat) {
  for (const std::string format : {"jsonl", "csv"}) {  // Parquet, which pyarrow reads: tests/cli/test_store.py
    SCOPED_TRACE(format);
    const std::string path = PathOf("all." + format);
    Write(path, Examples());
    std::vector<Measurement> back;
    const Status status = Read(path, back);
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_EQ(back.size(), Examples().size());
    for (size_t i = 0; i < back.size(); ++i) {
      SCOPED_TRACE(i);
      ExpectSame(back[i], Examples()[i]);
    }
  }
}

TEST_F(MeasurementFileTest, AFileThatIsNotCommittedIsNotThere) {
  for (const std::string& format : FileFormatNames()) {
    const std::string path = PathOf("half." + format);
    ASSERT_TRUE(WriteFileAtomically(path, "as it was").ok());
    {
      const auto writer = (*FindFileFormat(format, path))->create(path);
      ASSERT_EQ(writer.ok(), format != "samplestore") << "which is only read";
      EXPECT_EQ(writer.ok() && (*writer)->Write(Examples()[0]).ok(), format != "published" && format != "samplestore");
    }
    EXPECT_EQ(*ReadFile(path), "as it was");
  }
}

TEST_F(MeasurementFileTest, ACsvFileCutOffAnywhereIsRefused) {
  const std::string whole = Write(PathOf("all.csv"), {Examples()[0], Examples()[2], Examples()[3]});
  for (size_t size = 0; size < whole.size(); ++size) {
    const std::string line = Refusal(whole.substr(0, size));
    ASSERT_THAT(line, testing::AnyOf(HasSubstr("cut off"), HasSubstr("is not known"), HasSubstr("is not closed")))
        << size;
  }
}

TEST_F(MeasurementFileTest, ACsvFileWithOtherColumnsIsRefused) {
  const std::string whole = Write(PathOf("all.csv"), Examples());
  const std::string header = whole.substr(0, whole.find("\r\n"));
  const std::string rows = whole.substr(header.size());
  EXPECT_THAT(Refusal("a,b\r\n1,2\r\n"), AllOf(HasSubstr("column 'a' is not known"), HasSubstr("assay store export")));
  EXPECT_THAT(Refusal(header + ",speed" + rows), HasSubstr("column 'speed' is not known"));
  EXPECT_THAT(Refusal(header + ",uid" + rows), HasSubstr("column 'uid' comes twice"));
  EXPECT_THAT(Refusal("uid" + rows), HasSubstr("column 'schema' is missing"));
  EXPECT_THAT(Refusal(header.substr(0, header.rfind(',')) + rows), HasSubstr("column 'more' is missing"));
  EXPECT_THAT(Refusal(header + "\r\nx\r\n"), HasSubstr("refused.csv:2: 1 fields, where there are 17 columns"));
  EXPECT_THAT(Refusal(whole + whole), HasSubstr("others follow"));
}

TEST_F(MeasurementFileTest, ColumnsOfACsvFileMayStandInAnyOrder) {
  std::string text = Write(PathOf("one.csv"), {Examples()[3]});
  text.replace(0, std::string_view("schema,uid").size(), "\xef\xbb\xbfuid,schema");
  text.replace(text.find("2,u4"), 4, "u4,2");
  const std::string path = PathOf("other.csv");
  ASSERT_TRUE(WriteFileAtomically(path, text).ok());
  std::vector<Measurement> back;
  ASSERT_TRUE(Read(path, back).ok());
  ASSERT_EQ(back.size(), 1u);
  ExpectSame(back[0], Examples()[3]);
}

TEST_F(MeasurementFileTest, ACsvCellThatIsNoJsonIsNamed) {
  std::string text = Write(PathOf("one.csv"), {Examples()[3]});
  text.replace(text.find("{\"\"batch_size\"\":4}"), 18, "{\"\"batch_size\"\":  ");
  EXPECT_THAT(Refusal(text), HasSubstr("refused.csv:2: column 'entity'"));
}

TEST_F(MeasurementFileTest, WhatWasChangedSinceItWasExportedIsTold) {
  for (const std::string format : {"jsonl", "csv"}) {
    SCOPED_TRACE(format);
    const std::string whole = Write(PathOf("all." + format), Examples());
    std::string changed = whole;
    const size_t host = changed.find(" with spaces ");
    ASSERT_NE(host, std::string::npos);
    changed[host] = '_';
    EXPECT_THAT(ErrorOf("changed." + format, changed), HasSubstr("was changed since it was exported"));
    EXPECT_EQ(ErrorOf("same." + format, whole), "");
  }
}

TEST_F(MeasurementFileTest, AFileOfLinesThatLostOneIsTold) {
  const std::string whole = Write(PathOf("all.jsonl"), Examples());
  std::vector<std::string> lines = Split(whole, '\n');
  lines.pop_back();
  const auto without = [&](size_t dropped) {
    std::string text;
    for (size_t i = 0; i < lines.size(); ++i) {
      text += i == dropped ? "" : lines[i] + "\n";
    }
    return ErrorOf("part.jsonl", text);
  };
  EXPECT_THAT(without(0), HasSubstr("part.jsonl:1: this measurement, or what stood before it, was changed"));
  EXPECT_THAT(without(1), HasSubstr("part.jsonl:2: this measurement, or what stood before it, was changed"));
  EXPECT_THAT(without(3), HasSubstr("part.jsonl:3: the file is cut off here"));
  EXPECT_THAT(ErrorOf("part.jsonl", whole + lines[0]), HasSubstr("part.jsonl:5: 'more' says"));
}

TEST_F(MeasurementFileTest, LinesWithoutChecksumsAreTakenAsTheyAre) {
  const std::string whole = Write(PathOf("all.jsonl"), {Examples()[3]});
  nlohmann::json line = nlohmann::json::parse(whole);
  line.erase("checksum");
  line.erase("more");
  EXPECT_EQ(ErrorOf("old.jsonl", line.dump() + "\n"), "");
  EXPECT_THAT(ErrorOf("mixed.jsonl", line.dump() + "\n" + whole), HasSubstr("'checksum' stands on some lines only"));
}

TEST_F(MeasurementFileTest, AnEntityOfAnotherIdIsRefused) {
  Measurement other = Examples()[3];
  other.entity["batch_size"] = int64_t{8};
  for (const std::string format : {"jsonl", "csv"}) {
    EXPECT_THAT(ErrorOf("other." + format, Write(PathOf("all." + format), {other})),
                HasSubstr("'entity_id' is batch_size.4, but that of its 'entity' is batch_size.8"));
  }
}

TEST(FileFormatTest, IsChosenByTheEndingOfAName) {
  EXPECT_EQ((*FindFileFormat("", "a/b.csv"))->name, "csv");
  EXPECT_EQ((*FindFileFormat("", "a/B.CSV"))->name, "csv");
  EXPECT_EQ((*FindFileFormat("", "a/b"))->name, "jsonl");
  EXPECT_EQ((*FindFileFormat("", "a/store.yaml"))->name, "samplestore");
  EXPECT_EQ((*FindFileFormat("", "a/store.yml"))->name, "samplestore");
  EXPECT_EQ((*FindFileFormat("csv", "a/b.jsonl"))->name, "csv");
  EXPECT_THAT(FindFileFormat("xls", "a").status().message(), HasSubstr("expected jsonl, csv"));
}

}  // namespace
}  // namespace assay::samplestore
