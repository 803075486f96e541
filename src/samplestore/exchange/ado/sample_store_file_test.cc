#include "samplestore/exchange/ado/sample_store_file.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <memory>
#include <vector>

#include "base/files.h"
#include "samplestore/dependencies.h"

namespace assay::samplestore {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr char kFull[] = "finetune_full_benchmark-v1.0.0";

class SampleStoreFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto directory = TemporaryDirectory::Create("samplestore");
    ASSERT_TRUE(directory.ok());
    directory_ = std::make_unique<TemporaryDirectory>(*std::move(directory));
    Write("export.csv",
          "config, cpu_family,nodes,wallClockRuntime,status\n"
          "A_f0-c1,0,2,84.5,ok\n"
          "B_f1-c1,1,4,,\n");
  }

  std::string Path(const std::string& name) const { return directory_->path() + "/" + name; }
  void Write(const std::string& name, const std::string& text) {
    ASSERT_TRUE(WriteFileAtomically(Path(name), text).ok());
  }

  /// Of a file whose only source has these parameters.
  std::string FileOf(const std::string& parameters, const std::string& path = "export.csv",
                     const std::string& module = "CSVSampleStore") {
    Write("store.yaml", fmt::format("specification: {{module: {{moduleClass: SQLSampleStore}}}}\n"
                                    "copyFrom:\n"
                                    "  - module: {{moduleClass: {}, moduleName: orchestrator.core.samplestore.csv}}\n"
                                    "    storageLocation: {{path: {}}}\n"
                                    "    parameters: {}\n"
                                    "metadata: {{name: multi cloud}}\n",
                                    module, path, parameters));
    return Path("store.yaml");
  }

  std::vector<Measurement> Read(const std::string& file) {
    std::vector<Measurement> read;
    const Status status = ReadSampleStoreFile(file, [&](Measurement measurement) {
      read.push_back(std::move(measurement));
      return Status::Ok();
    });
    EXPECT_TRUE(status.ok()) << status.message();
    return read;
  }

  static std::string Refusal(const std::string& file) {
    return ReadSampleStoreFile(file, [](const Measurement&) { return Status::Ok(); }).message();
  }

  std::unique_ptr<TemporaryDirectory> directory_;
};

constexpr char kPresent[] =
    "{identifierColumn: config, generatorIdentifier: clouds, experiments: [{experimentIdentifier: bench, "
    "actuatorIdentifier: replay, constitutivePropertyMap: [cpu_family, nodes], observedPropertyMap: "
    "{runtime: wallClockRuntime}}]}";

TEST_F(SampleStoreFileTest, ARowIsAMeasurementOfWhatTheFileSaysItsColumnsAre) {
  const std::vector<Measurement> read = Read(FileOf(kPresent));
  ASSERT_THAT(read, SizeIs(1)) << "the second row has no value";
  EXPECT_EQ(read[0].experiment, "bench");
  EXPECT_EQ(read[0].entity_id, "cpu_family.0-nodes.2");
  EXPECT_EQ(read[0].properties.at("runtime"), space::Value(84.5));
  EXPECT_EQ(read[0].provenance.at("host"), "copied from clouds");
  EXPECT_EQ(read[0].provenance.at("identifier"), "A_f0-c1");
  EXPECT_EQ(read[0].depends_on.at(kMachine), "copied from clouds") << "nothing replays it";
  EXPECT_EQ(Read(Path("store.yaml"))[0].uid, read[0].uid);
}

TEST_F(SampleStoreFileTest, ARowIsTheSameWhereverItStandsAndRowsThatSayTheSameAreTwo) {
  const std::string rows = "A_f0-c1,0,2,84.5,ok\nA_f0-c1,0,2,84.5,ok\n";
  const std::string heading = "config,cpu_family,nodes,wallClockRuntime,status\n";
  Write("export.csv", heading + rows);
  const std::vector<Measurement> before = Read(FileOf(kPresent));
  ASSERT_THAT(before, SizeIs(2));
  EXPECT_NE(before[0].uid, before[1].uid);
  Write("export.csv", heading + "B_f1-c1,1,4,12.5,ok\n" + rows);
  const std::vector<Measurement> after = Read(Path("store.yaml"));
  ASSERT_THAT(after, SizeIs(3));
  EXPECT_EQ(after[1].uid, before[0].uid);
  EXPECT_EQ(after[2].uid, before[1].uid);
}

TEST_F(SampleStoreFileTest, TheOlderFormAndTheOneThatAdoPrintsSayTheSame) {
  const std::string present = Read(FileOf(kPresent))[0].uid;
  const std::string older = FileOf(
      "{identifierColumn: config, generatorIdentifier: clouds, constitutivePropertyColumns: [cpu_family, nodes], "
      "experiments: [{experimentIdentifier: bench, propertyMap: {runtime: wallClockRuntime}}]}");
  EXPECT_EQ(Read(older)[0].uid, present);
  Write("printed.yaml", fmt::format("config:\n  copyFrom:\n    - module: {{moduleClass: CSVSampleStore}}\n"
                                    "      storageLocation: {{path: export.csv}}\n      parameters: {}\n"
                                    "created: '2026-02-10T09:11:17Z'\nidentifier: 07c0fa\nstatus: []\n",
                                    kPresent));
  EXPECT_EQ(Read(Path("printed.yaml"))[0].uid, present);
}

TEST_F(SampleStoreFileTest, AnExperimentThatIsKnownIsNamedAsHere) {
  Write("ours.csv", fmt::format("config,model_name,number_gpus,gpu_model,model_max_length,batch_size,torch_dtype,"
                                "{}-dataset_tokens_per_second\nx,granite-3.1-2b,1,NVIDIA-A100-SXM4-80GB,512,4,"
                                "float32,1000\n",
                                kFull));
  const std::vector<Measurement> read = Read(
      FileOf(fmt::format("{{identifierColumn: config, experiments: [{{experimentIdentifier: {}, actuatorIdentifier: "
                         "SFTTrainer, propertyFormat: observed}}]}}",
                         kFull),
             "ours.csv"));
  ASSERT_THAT(read, SizeIs(1));
  EXPECT_EQ(read[0].experiment, kFull);
  EXPECT_EQ(read[0].parameters.at("torch_dtype"), space::Value(std::string("float32")));
  EXPECT_EQ(read[0].entity.at("batch_size"), space::Value(int64_t{4}));
  EXPECT_EQ(read[0].properties.at("dataset_tokens_per_second"), space::Value(int64_t{1000}));
  EXPECT_EQ(read[0].units.at("dataset_tokens_per_second"), "tokens/s");
  EXPECT_EQ(read[0].provenance.at("host"), "copied from ours.csv");
}

TEST_F(SampleStoreFileTest, WhatCannotBeHonouredIsOneLine) {
  EXPECT_THAT(Refusal(FileOf(kPresent, "export.csv", "SQLSampleStore")),
              HasSubstr("store.yaml:3: a SQLSampleStore is not read here, a CSVSampleStore is"));
  EXPECT_THAT(Refusal(FileOf(kPresent, "missing.csv")), HasSubstr("missing.csv"));
  EXPECT_THAT(Refusal(FileOf("{identifierColumn: id, experiments: [{experimentIdentifier: bench, "
                             "observedPropertyMap: [status]}]}")),
              HasSubstr("export.csv has no column 'id'"));
  EXPECT_THAT(Refusal(FileOf("{identifierColumn: config, experiments: [{experimentIdentifier: bench}]}")),
              HasSubstr("give 'observedPropertyMap'"));
  EXPECT_THAT(Refusal(FileOf("{identifierColumn: config}")), HasSubstr("nothing would be copied"));
  EXPECT_THAT(Refusal(FileOf("{identifierColum: config, experiments: []}")), HasSubstr("did you mean"));
  Write("empty.yaml", "specification: {module: {moduleClass: SQLSampleStore}}\n");
  EXPECT_THAT(Refusal(Path("empty.yaml")), HasSubstr("a store is made when --store URL is used first"));
  Write("space.yaml", "entitySpace: []\nexperiments: []\n");
  EXPECT_THAT(Refusal(Path("space.yaml")), HasSubstr("this is a discovery space, not a sample store"));
  EXPECT_THAT(CreateSampleStoreFile("x.yaml").status().message(), HasSubstr("is only read"));
}

}  // namespace
}  // namespace assay::samplestore
