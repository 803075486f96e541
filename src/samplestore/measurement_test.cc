#include "samplestore/measurement.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/json.h"

namespace assay::samplestore {
namespace {

using testing::HasSubstr;

Measurement Example() {
  Measurement measurement;
  measurement.uid = "u1";
  measurement.experiment = "e-v1.0.0";
  measurement.parameterized_id = "e-v1.0.0-a.1";
  measurement.entity = {{"batch_size", int64_t{4}}, {"model_name", std::string("m")}, {"gpu_model", space::Value()}};
  measurement.entity_id = space::EntityId(measurement.entity);
  measurement.parameters = {{"a", int64_t{1}}, {"dataset_id", std::string("/x-r.5/y")}};
  measurement.depends_on = {{"machine", "m, 2 cores, 4 GiB"}};
  measurement.outcome = Outcome::kValid;
  measurement.properties = {{"train_runtime", 12.5}, {"is_valid", int64_t{1}}};
  measurement.units = {{"train_runtime", "s"}};
  measurement.provenance = {{"host", "h"}};
  measurement.series = {{"loss", {3.5, 2.5}}};
  measurement.measured_at = "2026-01-31T12:00:00Z";
  return measurement;
}

TEST(MeasurementTest, KeepsEverythingThroughJson) {
  const Measurement measurement = Example();
  const auto json = ParseJson(DumpJson(ToJson(measurement)), "m");
  ASSERT_TRUE(json.ok());
  const auto back = MeasurementFromJson(*json);
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(ToJson(*back), ToJson(measurement));
  EXPECT_EQ(back->properties, measurement.properties);
  EXPECT_EQ(back->entity, measurement.entity);
  EXPECT_EQ(back->parameters, measurement.parameters);
  EXPECT_EQ(back->depends_on, measurement.depends_on);
  EXPECT_EQ(back->series, measurement.series);
}

TEST(MeasurementTest, RefusesNewerSchemasAndUnknownOutcomes) {
  nlohmann::json json = ToJson(Example());
  json["schema"] = 99;
  EXPECT_THAT(MeasurementFromJson(json).status().message(), HasSubstr("use a newer version"));
  json["schema"] = 1;
  json["outcome"] = "great";
  EXPECT_THAT(MeasurementFromJson(json).status().message(), HasSubstr("unknown outcome 'great'"));
  EXPECT_FALSE(MeasurementFromJson(nlohmann::json::array()).ok());
}

/// As schema 1 wrote it.
Result<Measurement> ReadSchema1(const std::string& parameters,
                                const nlohmann::json& changes = nlohmann::json::object()) {
  nlohmann::json json = ToJson(Example());
  json["schema"] = 1;
  json.erase("parameters");
  json.erase("depends_on");
  json["parameterized_id"] = "e-v1.0.0" + parameters;
  json["provenance"] = {{"cpu", "A"}, {"cores", "2"}, {"memory", "4.00 GiB"}, {"commit", "c"}, {"model_hash", "h"}};
  json.update(changes);
  return MeasurementFromJson(json);
}

TEST(MeasurementTest, ReadsParametersOfSchema1FromTheId) {
  EXPECT_EQ(ReadSchema1("")->parameters, space::Entity());
  EXPECT_EQ(ReadSchema1("-dataset_id.news-chars-1024-entries-1024-flash_attn.False-stop_after_seconds.2.5")->parameters,
            (space::Entity{{"dataset_id", std::string("news-chars-1024-entries-1024")},
                           {"flash_attn", false},
                           {"stop_after_seconds", 2.5}}));
  EXPECT_EQ(ReadSchema1("-dataset_id./data/x-r.8/rows.jsonl-max_steps.-1")->parameters,
            (space::Entity{{"dataset_id", std::string("/data/x-r.8/rows.jsonl")}, {"max_steps", int64_t{-1}}}));
}

TEST(MeasurementTest, TellsWhatSchema1DependsOnFromItsProvenance) {
  const auto valid = ReadSchema1("");
  EXPECT_EQ(valid->depends_on, (std::map<std::string, std::string>{
                                   {"machine", "A, 2 cores, 4.00 GiB"}, {"commit", "c"}, {"model_hash", "h"}}));
  EXPECT_EQ(valid->provenance.at("machine"), "A, 2 cores, 4.00 GiB");
  // Whose memory it was, and whether it was a rule or this machine, schema 1 does not say.
  const auto killed = ReadSchema1(
      "", {{"outcome", "invalid"}, {"provenance", {{"run_end", "x"}, {"out_of_memory_found_by", "kernel"}}}});
  EXPECT_EQ(killed->depends_on.at("model_hash"), "unknown");
  EXPECT_EQ(ReadSchema1("", {{"outcome", "invalid"}})->depends_on.at("model_hash"), "unknown");
}

TEST(MeasurementTest, NamesOutcomes) {
  for (const Outcome outcome : {Outcome::kValid, Outcome::kInvalid, Outcome::kFailed}) {
    EXPECT_EQ(*OutcomeFromString(ToString(outcome)), outcome);
  }
}

}  // namespace
}  // namespace assay::samplestore
