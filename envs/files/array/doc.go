// Package array reads and writes the array files of NumPy and reads those of MATLAB.
//
// Of NumPy: .npy (one array) and .npz (a zip archive of them), as numpy.lib.format describes versions 1.0, 2.0 and
// 3.0. Read takes every numeric type in either byte order and either order of dimensions, and text of fixed width;
// it refuses pickled objects and records. Little-endian row-major arrays are written.
//
// Of MATLAB: the numeric variables of files of version 5 (save -v6 and -v7), as "MAT-File Level 5 File Format"
// describes them, and of version 4. ReadMATLAB takes real arrays of every numeric class and of any number of
// dimensions, logicals, texts, and cell arrays of those, compressed or not, in either byte order. Other classes
// (structs, sparse and complex arrays, objects) are listed with the reason why they are not read. Files of version
// 7.3 are HDF5: they are recognised and refused.
//
// Nothing is allocated on the word of a length alone: memory grows with the bytes that arrive. An Array is what the
// files of both hold. What arrays and variables mean is not known here.
//
// # Layout of the files
//
// A .npy file:
//
//	6 bytes    \x93NUMPY
//	2 bytes    version, 1.0 to 3.0
//	2 bytes    length of the header, little-endian; 4 bytes from version 2.0 on
//	header     a Python dictionary: descr (type), fortran_order, shape; filled up with spaces and a line feed
//	data       the elements without gaps, in the order that fortran_order says
//
// A .npz file is a zip archive with an entry NAME.npy for each array.
//
// A MATLAB file of version 5:
//
//	116 bytes  text, which begins with MATLAB
//	8 bytes    offset of other data, not read
//	2 bytes    version, 0x0100
//	2 bytes    MI, written as a number in the byte order of the file
//	elements   each a tag of 8 bytes (type, size) and data, which are filled up to a multiple of 8 bytes
//
// An element that is a matrix holds elements in turn: flags with the class, dimensions, name, and what the class
// asks for: the real part, the cells. One that is compressed is a zlib stream with one matrix, and is not filled up.
// matlab_version4.go describes version 4.
package array
