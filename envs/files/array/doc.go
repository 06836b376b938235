// Package array reads and writes the array files of NumPy and reads those of MATLAB.
//
// Of NumPy: .npy (one array) and .npz (a zip archive of them), as numpy.lib.format describes versions 1.0, 2.0 and 3.0.
// Read takes every numeric type in either byte order and either order of dimensions, and text of fixed width; it
// refuses pickled objects and records. Little-endian row-major arrays are written.
//
// Of MATLAB: the numeric variables of files of version 5 (save -v6 and -v7), as "MAT-File Level 5 File Format" describes
// them, and of version 4. ReadMATLAB takes real arrays of every numeric class and of any number of dimensions,
// logicals, texts, and cell arrays of those, compressed or not, in either byte order. Other classes (structs, sparse and
// complex arrays, objects) are listed with the reason why they are not read. Files of version 7.3 are HDF5: they are
// recognised and refused.
//
// Nothing is allocated on the word of a length alone: memory grows with the bytes that arrive. An Array is what the
// files of both hold. What arrays and variables mean is not known here.
package array
