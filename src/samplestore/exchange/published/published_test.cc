#include <gmock/gmock.h>

#include "base/files.h"
#include "samplestore/dependencies.h"
#include "samplestore/exchange/published/published_file.h"
#include "samplestore/exchange/published/published_point.h"
#include "samplestore/exchange/published/published_row.h"

namespace assay::samplestore {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr char kFull[] = "finetune_full_benchmark-v1.0.0";

PublishedRow Row() {
  return {
      {"identifier",
       "model_name.granite-3.1-2b-number_gpus.8-gpu_model.NVIDIA-A100-SXM4-80GB-model_max_length.512-batch_size.16"},
      {"experiment_id", "SFTTrainer.finetune_full_benchmark-v1.0.0-fms_hf_tuning_version.3.0.0-stop_after_seconds.30"},
      {"generatorid", "explicit_grid_sample_generator"},
      {"model_name", "granite-3.1-2b"},
      {"method", "full"},
      {"number_gpus", "8.0"},
      {"gpu_model", "NVIDIA-A100-SXM4-80GB"},
      {"number_nodes", "1"},
      {"tokens_per_sample", "512"},
      {"batch_size", "16"},
      {"enable_roce", ""},
      {"fms_hf_tuning_version", "3.0.0"},
      {"gpu_power_watts_avg", ""},
      {"dataset_tokens_per_second", "2744.108442306281"},
      {"is_valid", "1"}};
}

PublishedRow RowWith(const PublishedRow& changes) {
  PublishedRow row = Row();
  for (const auto& [column, cell] : changes) {
    row[column] = cell;
  }
  return row;
}

PublishedRow RowOf(const Measurement& measurement) {
  const auto cells = RowOfMeasurement(measurement);
  EXPECT_TRUE(cells.ok()) << cells.status().message();
  PublishedRow row;
  for (size_t i = 0; i < cells->size(); ++i) {
    row.emplace(PublishedColumns()[i], (*cells)[i]);
  }
  return row;
}

std::string Refusal(const PublishedRow& changes) {
  const auto measurement = MeasurementOfRow(RowWith(changes), 0);
  EXPECT_FALSE(measurement.ok());
  return measurement.status().message();
}

TEST(PublishedPointTest, ReadsIdsWhoseValuesHoldTheirOwnSeparators) {
  const auto published = ReadExperimentId("SFTTrainer.finetune_full_benchmark-v1.0.0-gpu_model.A-B.c-r-batch_size.4");
  ASSERT_TRUE(published.ok()) << published.status().message();
  EXPECT_EQ(published->experiment->id(), kFull);
  EXPECT_EQ(published->parameters, (space::Entity{{"gpu_model", std::string("A-B.c-r")}, {"batch_size", int64_t{4}}}));
  EXPECT_EQ(ReadExperimentId("finetune_gptq-lora_benchmark-v1.0.0")->experiment->id(),
            "finetune_gptq-lora_benchmark-v1.0.0");
  EXPECT_THAT(ReadExperimentId("SFTTrainer.finetune_ful_benchmark-v1.0.0").status().message(), HasSubstr(kFull));
  EXPECT_THAT(ReadEntityId(*published->experiment, "colour.red").status().message(),
              AllOf(HasSubstr("'colour'"), HasSubstr("is no property")));
}

TEST(PublishedRowTest, IsThePointThatAnExperimentHereHasForIt) {
  const auto measurement = MeasurementOfRow(Row(), 0);
  ASSERT_TRUE(measurement.ok()) << measurement.status().message();
  EXPECT_EQ(measurement->experiment, kFull);
  EXPECT_EQ(measurement->parameterized_id,
            "finetune_full_benchmark-v1.0.0-fms_hf_tuning_version.3.0.0-stop_after_seconds.30");
  EXPECT_EQ(
      measurement->entity_id,
      "batch_size.16-gpu_model.NVIDIA-A100-SXM4-80GB-model_max_length.512-model_name.granite-3.1-2b-number_gpus.8");
  EXPECT_EQ(measurement->outcome, Outcome::kValid);
  EXPECT_EQ(measurement->properties, (std::map<std::string, space::Value>{
                                         {"dataset_tokens_per_second", 2744.108442306281}, {"is_valid", int64_t{1}}}));
  EXPECT_EQ(measurement->units.at("dataset_tokens_per_second"), "tokens/s");
  EXPECT_EQ(measurement->provenance.at("host"), kPublishedHost);
  EXPECT_EQ(measurement->provenance.at("generatorid"), "explicit_grid_sample_generator");
}

TEST(PublishedRowTest, IsNeverReplayedHere) {
  const auto measurement = MeasurementOfRow(Row(), 0);
  EXPECT_FALSE(Agrees(measurement->depends_on, {{kMachine, "this one"}}));
}

TEST(PublishedRowTest, HasTheSameUidWheneverItIsRead) {
  EXPECT_EQ(MeasurementOfRow(Row(), 0)->uid, MeasurementOfRow(Row(), 0)->uid);
  EXPECT_NE(MeasurementOfRow(Row(), 0)->uid, MeasurementOfRow(Row(), 1)->uid);
  EXPECT_NE(MeasurementOfRow(Row(), 0)->uid, MeasurementOfRow(RowWith({{"train_runtime", "1"}}), 0)->uid);
}

TEST(PublishedRowTest, WhatIsNotValidSaysWhichRuleForbidsIt) {
  const PublishedRow uneven = {{"batch_size", "4"},
                               {"identifier",
                                "model_name.m-number_gpus.8-gpu_model.NVIDIA-A100-SXM4-80GB-model_max_length.512-"
                                "batch_size.4"},
                               {"model_name", "m"},
                               {"is_valid", "0"}};
  const auto ruled = MeasurementOfRow(RowWith(uneven), 0);
  ASSERT_TRUE(ruled.ok()) << ruled.status().message();
  EXPECT_EQ(ruled->outcome, Outcome::kInvalid);
  EXPECT_THAT(ruled->reason, HasSubstr("batch_size 4"));
  const auto failed = MeasurementOfRow(RowWith({{"is_valid", "0"}}), 0);
  EXPECT_EQ(failed->reason, "published as not valid: it failed when it ran");
  EXPECT_THAT(failed->properties, testing::IsEmpty());
}

TEST(PublishedRowTest, WhatContradictsItselfIsRefused) {
  EXPECT_THAT(Refusal({{"number_gpus", "4"}}), HasSubstr("number_gpus is 8 by the row's ids and 4 by its column"));
  EXPECT_THAT(Refusal({{"is_valid", "perhaps"}}), HasSubstr("is_valid is 'perhaps': expected 1 or 0"));
  EXPECT_THAT(Refusal({{"train_runtime", "long"}}), HasSubstr("train_runtime is 'long': expected a number"));
  EXPECT_THAT(Refusal({{"batch_size", "many"}}), HasSubstr("batch_size"));
}

TEST(PublishedRowTest, ComesBackAsItWas) {
  const auto measurement = MeasurementOfRow(Row(), 0);
  const PublishedRow back = RowOf(*measurement);
  ASSERT_EQ(back.size(), 38u);
  EXPECT_EQ(back.at("identifier"), measurement->entity_id);
  EXPECT_EQ(back.at("tokens_per_sample"), "512");
  EXPECT_EQ(back.at("enable_roce"), "False");
  EXPECT_EQ(back.at("method"), "full");
  const auto again = MeasurementOfRow(back, 0);
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(again->entity, measurement->entity);
  EXPECT_EQ(again->parameterized_id, measurement->parameterized_id);
  EXPECT_EQ(again->properties, measurement->properties);
  EXPECT_EQ(again->uid, measurement->uid);
}

TEST(PublishedRowTest, WhatWasMeasuredHereIsNotAdosElsewhere) {
  Measurement own = *MeasurementOfRow(Row(), 0);
  own.provenance = {{"host", "mine"}};
  own.depends_on = {{kMachine, "this one"}};
  const PublishedRow row = RowOf(own);
  EXPECT_EQ(row.at("generatorid"), "assay on mine");
  const auto elsewhere = MeasurementOfRow(row, 0);
  ASSERT_TRUE(elsewhere.ok()) << elsewhere.status().message();
  EXPECT_EQ(elsewhere->provenance.at("host"), "published by assay on mine");
  EXPECT_FALSE(Agrees(elsewhere->depends_on, {{kMachine, "this one"}}));
  EXPECT_EQ(RowOf(*elsewhere), row);
}

class PublishedFileTest : public testing::Test {
 protected:
  std::string Refusal(std::string_view text) {
    EXPECT_TRUE(WriteFileAtomically(path_, text).ok());
    const Status status = ReadPublishedFile(path_, [](const Measurement&) {
      ADD_FAILURE() << "nothing of it is taken";
      return Status::Ok();
    });
    EXPECT_EQ(status.code(), ErrorCode::kInvalidArgument);
    return status.message();
  }

  TemporaryDirectory folder_ = *TemporaryDirectory::Create("published_test");
  std::string path_ = folder_.path() + "/published.csv";
};

TEST_F(PublishedFileTest, RefusesWhatIsNoSuchFileAndWhatIsCutOff) {
  EXPECT_THAT(Refusal("a,b\n1,2\n"),
              AllOf(HasSubstr("published.csv: column 'identifier' is missing"), HasSubstr("without --format")));
  std::string header;
  std::string cells;
  for (const auto& [column, cell] : Row()) {
    header += (header.empty() ? "" : ",") + column;
    cells += (cells.empty() && header == column ? "" : ",") + cell;
  }
  const std::string whole = header + "\n" + cells + "\n";
  EXPECT_THAT(Refusal(whole + cells), HasSubstr("published.csv:3: the file is cut off here"));
  EXPECT_THAT(Refusal(whole + "1,2\n"), HasSubstr("published.csv:3: 2 fields, where there are 15 columns"));
  EXPECT_THAT(Refusal(header + ",is_valid\n"), HasSubstr("comes twice"));
}

}  // namespace
}  // namespace assay::samplestore
