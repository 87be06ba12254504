// Process groups for Python: stores, sessions, groups and their work.
#include <unistd.h>

#include "distributed/group.h"
#include "distributed/nccl_group.h"
#include "distributed/session.h"
#include "python/distributed_objects.h"

namespace shim {
namespace {

using namespace between_processes;

// --- stores -------------------------------------------------------------------------------------------------------------
PyObject* distributed_errors(PyObject*, PyObject* args) {
  if (!PyArg_ParseTuple(args, "OOOO", &failures[0], &failures[1], &failures[2], &failures[3])) return nullptr;
  for (PyObject* kind : failures) Py_INCREF(kind);
  Py_RETURN_NONE;
}

PyObject* memory_store(PyObject*, PyObject*) { return hold<Store>(std::make_shared<MemoryStore>()); }

PyObject* open_file_store(PyObject*, PyObject* path) {
  return between([&] { return hold<Store>(file_store(utf8(path))); });
}

// open_tcp_store(host, port, timeout_ms, serve, listening): (store, port)
PyObject* open_tcp_store(PyObject*, PyObject* args) {
  const char* host;
  int port, serve, listening;
  long long timeout;
  if (!PyArg_ParseTuple(args, "siLpi", &host, &port, &timeout, &serve, &listening)) return nullptr;
  return between([&]() -> PyObject* {
    std::shared_ptr<Store> store;
    {
      const GilRelease released;
      std::shared_ptr<Server> server;
      if (serve) server = start_server(port, listening), port = port_of(*server);
      store = tcp_store(serve ? "localhost" : host, port, Milliseconds(timeout), std::move(server));
    }
    return Py_BuildValue("Ni", hold<Store>(std::move(store)), port);
  });
}

bool take_bytes(PyObject* o, std::string* to) {
  char* bytes;
  Py_ssize_t size;
  if (PyBytes_AsStringAndSize(o, &bytes, &size) < 0) return false;
  to->assign(bytes, size_t(size));
  return true;
}

// store.call(ask, keys, value, expected, number, timeout_ms): (outcome, number, value, list)
PyObject* store_call(PyObject* self, PyObject* const* args, Py_ssize_t n) {
  if (n != 6 || !PyTuple_Check(args[1]) || !PyBytes_Check(args[2]) || !PyBytes_Check(args[3]))
    return PyErr_Format(PyExc_TypeError, "call(ask, keys, value, expected, number, timeout)");
  return between([&]() -> PyObject* {
    Request r{.ask = Ask(PyLong_AsLong(args[0])),
        .number = PyLong_AsLongLong(args[4]),
        .timeout = PyLong_AsLongLong(args[5])};
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args[1]); ++i) {
      if (!PyUnicode_Check(PyTuple_GET_ITEM(args[1], i))) return PyErr_Format(PyExc_TypeError, "a key is a string");
      r.keys.emplace_back(utf8(PyTuple_GET_ITEM(args[1], i)));
    }
    if (PyErr_Occurred() || !take_bytes(args[2], &r.value) || !take_bytes(args[3], &r.expected)) return nullptr;
    if (r.value.size() > kMostValue) return PyErr_Format(PyExc_ValueError, "a store's value has at most 512 MiB");
    Reply reply;
    {
      const GilRelease released;
      reply = in<Store>(self).call(r);
    }
    OwnedRef list(PyList_New(Py_ssize_t(reply.list.size())));
    for (size_t i = 0; list.o && i < reply.list.size(); ++i)
      PyList_SET_ITEM(
          list.o, Py_ssize_t(i), PyUnicode_FromStringAndSize(reply.list[i].data(), Py_ssize_t(reply.list[i].size())));
    return list.o ? Py_BuildValue("iLy#N", int(reply.outcome), static_cast<long long>(reply.number), reply.value.data(),
                        Py_ssize_t(reply.value.size()), list.give())
                  : nullptr;
  });
}

// --- sessions and groups ------------------------------------------------------------------------------------------------
PyObject* mpi_look_at(PyObject*, PyObject* path) {
  return between([&]() -> PyObject* { return mpi::look_at(utf8(path)), Py_NewRef(Py_None); });
}

PyObject* mpi_why_not(PyObject*, PyObject*) {
  const mpi::Library& l = mpi::library();
  return l.loaded ? Py_NewRef(Py_None) : PyUnicode_FromString(l.why_not.c_str());
}

PyObject* py_end_mpi(PyObject*, PyObject*) {
  const GilRelease released;
  end_mpi();
  Py_RETURN_NONE;
}

// open_session(store, prefix, rank, size, timeout_ms, by_mpi)
PyObject* open_session(PyObject*, PyObject* args) {
  PyObject* store;
  const char* prefix;
  int rank, size, by_mpi;
  long long timeout;
  if (!PyArg_ParseTuple(args, "O!siiLp", type_of<Store>, &store, &prefix, &rank, &size, &timeout, &by_mpi))
    return nullptr;
  return between([&] {
    std::shared_ptr<Session> made;
    {
      const GilRelease released;
      made = std::make_shared<Session>(
          reinterpret_cast<Holder<Store>*>(store)->it, prefix, rank, size, Milliseconds(timeout), by_mpi);
    }
    return hold<Session>(std::move(made));
  });
}

// session.group(ranks, tag, name, timeout_ms)
PyObject* session_group(PyObject* self, PyObject* args) {
  PyObject* ranks;
  const char* name;
  int tag;
  long long timeout;
  std::vector<int64_t> given;
  if (!PyArg_ParseTuple(args, "OisL", &ranks, &tag, &name, &timeout) || !numbers(ranks, &given)) return nullptr;
  return between([&] {
    std::shared_ptr<ProcessGroup> made;
    {
      const GilRelease released;
      made = in<Session>(self).group({given.begin(), given.end()}, tag, name, Milliseconds(timeout));
    }
    return hold<ProcessGroup>(std::move(made));
  });
}

// session.nccl_group(ranks, key, name, timeout_ms, high_priority)
PyObject* session_nccl_group(PyObject* self, PyObject* args) {
  PyObject* ranks;
  const char *key, *name;
  long long timeout;
  int high_priority;
  std::vector<int64_t> given;
  if (!PyArg_ParseTuple(args, "OssLp", &ranks, &key, &name, &timeout, &high_priority) || !numbers(ranks, &given))
    return nullptr;
  return between([&] {
    return hold<NcclGroup>(
        in<Session>(self).nccl_group({given.begin(), given.end()}, key, name, Milliseconds(timeout), high_priority));
  });
}

PyObject* session_leave(PyObject* self, PyObject*) {
  const GilRelease released;
  in<Session>(self).leave();
  Py_RETURN_NONE;
}

// group.start(name, act, op, input, output, root, tag, input_counts, output_counts, copies, timeout_ms, wait): its work, or None
PyObject* group_start(PyObject* self, PyObject* const* args, Py_ssize_t n) {
  if (n != 12 || !PyUnicode_Check(args[0])) return PyErr_Format(PyExc_TypeError, "start() takes 12 arguments");
  return between([&]() -> PyObject* {
    Collective c{.kind = Act(PyLong_AsLong(args[1])),
        .op = Reduce(PyLong_AsLong(args[2])),
        .input = lent(args[3]),
        .output = lent(args[4]),
        .root = int(PyLong_AsLong(args[5])),
        .tag = int(PyLong_AsLong(args[6])),
        .timeout = Milliseconds(PyLong_AsLongLong(args[10])),
        .name = utf8(args[0])};
    if (PyErr_Occurred() || !numbers(args[7], &c.input_counts) || !numbers(args[8], &c.output_counts)) return nullptr;
    for (Py_ssize_t i = 0; args[9] != Py_None && i < PyList_GET_SIZE(args[9]); ++i) {
      PyObject* pair = PyList_GET_ITEM(args[9], i);
      c.copies.emplace_back(lent(PyTuple_GET_ITEM(pair, 0)), lent(PyTuple_GET_ITEM(pair, 1)));
    }
    const bool waits = args[11] == Py_True;
    std::shared_ptr<Work> work;
    {
      const GilRelease released;
      work = in<ProcessGroup>(self).start(std::move(c));
      if (waits)
        work->wait(Milliseconds(0));
      else if (!work->advance())
        watch_progress(work);
    }
    return waits ? Py_NewRef(Py_None) : hold<Work>(std::move(work));
  });
}

PyObject* group_abort(PyObject* self, PyObject* why) {
  return between([&]() -> PyObject* { return in<ProcessGroup>(self).abort(utf8(why)), Py_NewRef(Py_None); });
}

PyObject* group_sequence(PyObject* self, void*) { return PyLong_FromLongLong(in<ProcessGroup>(self).sequence()); }

PyObject* work_wait(PyObject* self, PyObject* timeout) {
  const long long at_most = PyLong_AsLongLong(timeout);
  if (PyErr_Occurred()) return nullptr;
  return between([&]() -> PyObject* {
    {
      const GilRelease released;
      in<Work>(self).wait(Milliseconds(at_most));
    }
    Py_RETURN_TRUE;
  });
}

PyObject* work_test(PyObject* self, PyObject*) {
  bool ended;
  {
    const GilRelease released;
    in<Work>(self).look();
    ended = in<Work>(self).ended();
  }
  return PyBool_FromLong(ended);
}

PyObject* work_error(PyObject* self, void*) {
  const std::string error = in<Work>(self).error();
  return error.empty() ? Py_NewRef(Py_None) : PyUnicode_FromString(error.c_str());
}

PyObject* work_source(PyObject* self, void*) { return PyLong_FromLong(in<Work>(self).source()); }

PyMethodDef store_methods[] = {{"call", fast(store_call), METH_FASTCALL, nullptr}, {nullptr, nullptr, 0, nullptr}};
PyMethodDef session_methods[] = {{"group", session_group, METH_VARARGS, nullptr},
    {"nccl_group", session_nccl_group, METH_VARARGS, nullptr}, {"leave", session_leave, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};
PyMethodDef group_methods[] = {{"start", fast(group_start), METH_FASTCALL, nullptr},
    {"abort", group_abort, METH_O, nullptr}, {nullptr, nullptr, 0, nullptr}};
PyMethodDef work_methods[] = {
    {"wait", work_wait, METH_O, nullptr}, {"test", work_test, METH_NOARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};
PyGetSetDef no_attributes[] = {{nullptr, nullptr, nullptr, nullptr, nullptr}};
PyGetSetDef group_attributes[] = {
    {"sequence", group_sequence, nullptr, nullptr, nullptr}, {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyGetSetDef work_attributes[] = {{"error", work_error, nullptr, nullptr, nullptr},
    {"source", work_source, nullptr, nullptr, nullptr}, {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMethodDef functions[] = {{"distributed_errors", distributed_errors, METH_VARARGS, nullptr},
    {"memory_store", memory_store, METH_NOARGS, nullptr}, {"file_store", open_file_store, METH_O, nullptr},
    {"tcp_store", open_tcp_store, METH_VARARGS, nullptr}, {"mpi_look_at", mpi_look_at, METH_O, nullptr},
    {"mpi_why_not", mpi_why_not, METH_NOARGS, nullptr}, {"end_mpi", py_end_mpi, METH_NOARGS, nullptr},
    {"open_session", open_session, METH_VARARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};

}  // namespace

int bind_distributed(PyObject* module) {
  const bool fine = add_type<Store>(module, "DistributedStore", store_methods, no_attributes) &&
                    add_type<Session>(module, "DistributedSession", session_methods, no_attributes) &&
                    add_type<ProcessGroup>(module, "DistributedGroup", group_methods, group_attributes) &&
                    add_type<Work>(module, "DistributedWork", work_methods, work_attributes);
  return fine && bind_nccl(module) == 0 ? PyModule_AddFunctions(module, functions) : -1;
}

}  // namespace shim
