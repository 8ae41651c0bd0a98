# hg_protocol: the protocol's messages and calls, generated into the build
# folder from broker/front/proto. Not our code, so not under our warnings.
set(proto_dir ${CMAKE_CURRENT_SOURCE_DIR}/front/proto)
set(protocol_dir ${CMAKE_CURRENT_BINARY_DIR}/protocol)
file(MAKE_DIRECTORY ${protocol_dir})

set(protocol_sources
  ${protocol_dir}/messages.pb.cc ${protocol_dir}/service.pb.cc
  ${protocol_dir}/service.grpc.pb.cc)
add_custom_command(
  OUTPUT ${protocol_sources} ${protocol_dir}/messages.pb.h
    ${protocol_dir}/service.pb.h ${protocol_dir}/service.grpc.pb.h
  COMMAND protobuf::protoc -I ${proto_dir} --cpp_out=${protocol_dir}
    messages.proto service.proto
  COMMAND protobuf::protoc -I ${proto_dir} --grpc_out=${protocol_dir}
    --plugin=protoc-gen-grpc=${GRPC_CPP_PLUGIN} service.proto
  DEPENDS ${proto_dir}/messages.proto ${proto_dir}/service.proto
  COMMENT "Generating the protocol's messages"
  VERBATIM)

add_library(hg_protocol STATIC ${protocol_sources})
# SYSTEM: what is wrong in a generated header is not ours to mend.
target_include_directories(hg_protocol SYSTEM PUBLIC ${protocol_dir})
target_link_libraries(hg_protocol PUBLIC protobuf::libprotobuf PkgConfig::grpcpp)
target_compile_options(hg_protocol PRIVATE -w -O1)
